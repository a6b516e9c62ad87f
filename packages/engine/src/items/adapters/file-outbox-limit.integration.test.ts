import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { silentLogger } from "../../kernel/logger.ts";
import { openStore } from "../../store/open-store.ts";
import { outboxLimitSuite } from "../testing/outbox-limit-suite.ts";
import { openFileItems } from "./file.ts";

const dataDir = mkdtempSync(join(tmpdir(), "svc-items-limit-"));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

outboxLimitSuite("file_based", (clock) =>
  openFileItems({ dataDir, filePath: "items.db", cacheBytes: 0, log: silentLogger, clock, openStore }),
);
