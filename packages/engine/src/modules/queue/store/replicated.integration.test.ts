import { replicaKinds } from "../../../store/replicated/testing/open-on-log.ts";
import { openQueueStore } from "./open-queue-store.ts";
import { queueStoreSuite } from "./testing/queue-store-suite.ts";

for (const { name, open } of replicaKinds("file")) {
  queueStoreSuite(name, (clock) =>
    openQueueStore({ name: "in_memory" }, { dataDir: "", openStore: (options) => open({ ...options, clock }) }),
  );
}
