import { replicaKinds } from "../../../store/replicated/testing/open-on-log.ts";
import { cronStoreSuite } from "./testing/cron-store-suite.ts";

const procedures = new URL("./procedures.js", import.meta.url);
for (const { name, open } of replicaKinds("memory")) {
  cronStoreSuite(name, (clock) => open({ file: undefined, procedures, clock }));
}
