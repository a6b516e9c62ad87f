import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { openStore } from "../../../store/open-store.ts";
import { openQueueStore } from "./open-queue-store.ts";
import { queueStoreSuite } from "./testing/queue-store-suite.ts";

const root = mkdtempSync(join(tmpdir(), "svc-queue-store-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

queueStoreSuite("a file", (clock) =>
  openQueueStore(
    { name: "file_based", config: { file_path: "queue.db" } },
    { dataDir: mkdtempSync(join(root, "data-")), openStore: (options) => openStore({ ...options, clock }) },
  ),
);
