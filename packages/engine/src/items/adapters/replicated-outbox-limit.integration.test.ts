import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { silentLogger } from "../../kernel/logger.ts";
import { replicaKinds } from "../../store/replicated/testing/open-on-log.ts";
import { outboxLimitSuite } from "../testing/outbox-limit-suite.ts";
import { openFileItems } from "./file.ts";

const root = mkdtempSync(join(tmpdir(), "svc-replicated-limit-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

// The suite is slow: one kind only.
const [{ name, open }] = replicaKinds("memory");
outboxLimitSuite(name, (clock) => {
  const dataDir = mkdtempSync(join(root, "data-"));
  const options = { dataDir, filePath: "items.db", cacheBytes: 0, log: silentLogger, clock };
  return openFileItems({ ...options, openStore: open });
});
