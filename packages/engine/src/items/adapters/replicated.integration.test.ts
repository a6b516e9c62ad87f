import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { MemoryLog } from "../../cluster/testing/memory-log.ts";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import type { OpenStore } from "../../kernel/store-contract.ts";
import { openReplicatedStore } from "../../store/replicated/open-replicated-store.ts";
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

it("items of one engine are read as another one wrote them, although there is a cache", async () => {
  const log = new MemoryLog();
  const options = { filePath: "items.db", cacheBytes: 1_000_000, log: silentLogger, clock: systemClock };
  const open = (node: string): Promise<ItemStore> =>
    openFileItems({
      ...{ ...options, dataDir: mkdtempSync(join(root, "data-")) },
      openStore: ({ procedures }) => openReplicatedStore({ log: log.connect(), node, file: undefined, procedures }),
    });
  const [one, other] = [await open("a"), await open("b")];
  const write = (store: ItemStore, json: string) =>
    store.set(
      "s",
      "k",
      { json, bytes: 1, expiresAt: undefined },
      { now: Date.now(), ifVersion: undefined, notice: undefined },
    );
  await write(one, "1");
  expect(await one.get("s", "k")).toMatchObject({ json: "1" });
  await write(other, "2");
  expect(await one.get("s", "k")).toMatchObject({ json: "2" });
  await Promise.all([one.close(), other.close()]);
});
