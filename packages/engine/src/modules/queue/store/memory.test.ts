import { openStore } from "../../../store/open-store.ts";
import { openQueueStore } from "./open-queue-store.ts";
import { queueStoreSuite } from "./testing/queue-store-suite.ts";

queueStoreSuite("memory", (clock) =>
  openQueueStore({ name: "in_memory" }, { dataDir: "", openStore: (options) => openStore({ ...options, clock }) }),
);
