import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { openDatabase } from "../../store/driver.ts";
import { openStore } from "../../store/open-store.ts";
import type { ItemStore } from "../item-store.ts";
import { newValue, newWrite } from "../testing/suite/harness.ts";
import { openFileItems } from "./file.ts";
import { schema } from "./file-thread/schema.ts";

const root = mkdtempSync(join(tmpdir(), "svc-items-upgrade-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function open(dataDir: string, filePath = "state.db"): Promise<ItemStore> {
  return openFileItems({ dataDir, filePath, cacheBytes: 0, log: silentLogger, clock: systemClock, openStore });
}

describe("a file of items of version 1", () => {
  it("is brought up to date with all items, versions, floors and sizes", async () => {
    const folder = mkdtempSync(join(root, "v1-"));
    const older = openDatabase(join(folder, "state.db"));
    older.exec(`PRAGMA journal_mode=WAL; ${schema[0]}; PRAGMA user_version=1;
      INSERT INTO items (scope, key, version, updated_at, bytes, json) VALUES ('a', 'k', 3, 5, 3, '"x"'), ('a', 'l', 1, 6, 1, '1');
      INSERT INTO scopes VALUES ('a', 2, 0), ('emptied', 0, 8); UPDATE shared_floor SET version = 4`);
    older.close();
    const items = await open(folder);
    expect(await items.get("a", "k")).toEqual({
      key: "k",
      json: '"x"',
      version: 3,
      updatedAt: 5,
      bytes: 3,
      expiresAt: undefined,
    });
    expect((await items.groups({ prefix: "", after: undefined, limit: 10 })).groups).toEqual([
      { scope: "a", items: 2, bytes: 4 },
    ]);
    expect(await items.set("emptied", "k", newValue("1"), newWrite())).toMatchObject({ item: { version: 9 } });
    expect(await items.set("new", "k", newValue("1", 5), newWrite())).toMatchObject({ item: { version: 5 } });
    expect(await items.nextExpiry()).toBe(5);
    await items.close();
  });
});

describe("a snapshot of the file adapter", () => {
  it("is a database with what was there, taken while others write, and can be put in the place of the file", async () => {
    const folder = mkdtempSync(join(root, "snapshot-"));
    const items = await open(folder);
    const large = JSON.stringify("x".repeat(10_000));
    const write = (from: number) =>
      Promise.all(
        Array.from({ length: 500 }, (_, index) => items.set("s", `k${from + index}`, newValue(large), newWrite())),
      );
    await write(0);
    const snapshot = items.snapshot(join(folder, "copy.db"));
    const written: Promise<unknown>[] = [];
    let busy = true;
    void snapshot.finally(() => {
      busy = false;
    });
    for (let from = 500; busy; from += 500) {
      written.push(write(from));
      await written[written.length - 1];
    }
    expect((await snapshot).bytes).toBeGreaterThan(500 * 10_000);
    await items.set("s", "k0", newValue("0"), newWrite());
    await items.close();
    const restored = await open(folder, "copy.db");
    expect(await restored.get("s", "k0")).toMatchObject({ json: large, version: 1 });
    expect((await restored.groups({ prefix: "", after: undefined, limit: 1 })).groups[0]?.items).toBeGreaterThanOrEqual(
      500,
    );
    expect(await restored.set("s", "k0", newValue("1"), newWrite())).toMatchObject({ item: { version: 2 } });
    await restored.close();
  });

  it("is finished before the store closes", async () => {
    const folder = mkdtempSync(join(root, "closing-"));
    const items = await open(folder);
    await items.set("s", "k", newValue("1"), newWrite());
    const snapshot = items.snapshot(join(folder, "copy.db"));
    await items.close();
    expect((await snapshot).bytes).toBeGreaterThan(0);
  });
});
