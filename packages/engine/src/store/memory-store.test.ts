import { openStore } from "./open-store.ts";
import { appliedSuite } from "./testing/applied-suite.ts";

const procedures = new URL("./testing/ledger-procedures.js", import.meta.url);
appliedSuite("a store in memory", () => openStore({ file: undefined, procedures }));
