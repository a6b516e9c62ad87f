import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { Clock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import type { OpenStore } from "../../kernel/store-contract.ts";
import { replicaKinds } from "../../store/replicated/testing/open-on-log.ts";
import type { ItemStore } from "../item-store.ts";
import { itemStoreSuite } from "../testing/item-store-suite.ts";
import { openFileItems } from "./file.ts";

const root = mkdtempSync(join(tmpdir(), "svc-replicated-items-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function openOn(openStore: OpenStore, clock: Clock): Promise<ItemStore> {
  const dataDir = mkdtempSync(join(root, "data-"));
  return openFileItems({ dataDir, filePath: "items.db", cacheBytes: 0, log: silentLogger, clock, openStore });
}

// In memory, since starting threads takes most of the time of the suite in files. Files are tested by the suite of cron.
const [, two] = replicaKinds("memory");
itemStoreSuite(two.name, (clock) => openOn(two.open, clock));
