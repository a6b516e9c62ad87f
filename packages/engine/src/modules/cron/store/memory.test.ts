import { openStore } from "../../../store/open-store.ts";
import { cronStoreSuite } from "./testing/cron-store-suite.ts";

const procedures = new URL("./procedures.js", import.meta.url);
cronStoreSuite("memory", (clock) => openStore({ file: undefined, procedures, clock }));
