import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { openStore } from "../../../store/open-store.ts";
import { cronStoreSuite } from "./testing/cron-store-suite.ts";

const root = mkdtempSync(join(tmpdir(), "svc-cron-store-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const procedures = new URL("./procedures.js", import.meta.url);
cronStoreSuite("a file", (clock) =>
  openStore({ file: join(mkdtempSync(join(root, "data-")), "cron.db"), procedures, clock }),
);
