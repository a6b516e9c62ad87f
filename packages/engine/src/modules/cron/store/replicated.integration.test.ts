import { replicaKinds } from "../../../store/replicated/testing/open-on-log.ts";
import { cronStoreSuite } from "./testing/cron-store-suite.ts";

const procedures = new URL("./procedures.js", import.meta.url);
const [, two] = replicaKinds("file");
cronStoreSuite(two.name, (clock) => two.open({ file: undefined, procedures, clock }));
