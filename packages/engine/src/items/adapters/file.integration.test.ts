import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { lockDataFolder } from "../../store/data-folder.ts";
import { openDatabase } from "../../store/driver.ts";
import { openStore } from "../../store/open-store.ts";
import type { ItemStore } from "../item-store.ts";
import { itemStoreSuite } from "../testing/item-store-suite.ts";
import { newValue, newWrite } from "../testing/suite/harness.ts";
import { openFileItems } from "./file.ts";

const root = mkdtempSync(join(tmpdir(), "svc-state-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let folders = 0;
function freshFolder(): string {
  folders += 1;
  const folder = join(root, String(folders));
  mkdirSync(folder);
  return folder;
}

function openIn(
  dataDir: string,
  options: {
    readonly filePath?: string;
    readonly cacheBytes?: number;
    readonly clock?: Clock;
    readonly durability?: "durable" | "relaxed";
  } = {},
): Promise<ItemStore> {
  return openFileItems({
    dataDir,
    filePath: options.filePath ?? "state.db",
    cacheBytes: options.cacheBytes ?? 1_000_000,
    log: silentLogger,
    clock: options.clock ?? systemClock,
    durability: options.durability ?? "durable",
    openStore,
  });
}

itemStoreSuite("file_based", (clock) => openIn(freshFolder(), { clock }));
itemStoreSuite("file_based without a cache", (clock) => openIn(freshFolder(), { clock, cacheBytes: 0 }));

describe("the file adapter", () => {
  it("finds everything again after it was closed and opened", async () => {
    const folder = freshFolder();
    const before = await openIn(folder);
    await before.set("s", "k", newValue('{"a":1}'), newWrite({ now: 7 }));
    await before.set("gone", "k", newValue("1"), newWrite());
    await before.delete("gone", "k", newWrite());
    await before.close();
    const after = await openIn(folder);
    expect(await after.get("s", "k")).toEqual({
      key: "k",
      json: '{"a":1}',
      version: 1,
      updatedAt: 7,
      bytes: 7,
      expiresAt: undefined,
    });
    expect(await after.scopes({ prefix: "" })).toEqual(["s"]);
    expect(await after.set("gone", "k", newValue("1"), newWrite())).toMatchObject({ item: { version: 3 } });
    await after.close();
  });

  it("writes no more than two pages more for an item of a scope of 20,000 than for one of a scope of 20 (S-5)", async () => {
    const PAGE_BYTES = 4_096;
    const folder = freshFolder();
    const write = (state: ItemStore, scope: string, n: number) =>
      state.set(scope, `k${n % 20_000}`, newValue(JSON.stringify({ n, text: "x".repeat(100) })), newWrite());
    const filled = await openIn(folder);
    for (let first = 0; first < 20_000; first += 5_000)
      await Promise.all(Array.from({ length: 5_000 }, (_, n) => write(filled, "large", first + n)));
    await Promise.all(Array.from({ length: 20 }, (_, n) => write(filled, "small", n)));
    // Closing empties the log, so its length is the size of the later writes.
    await filled.close();
    const state = await openIn(folder);
    const logBytes = (): number => statSync(join(folder, "state.db-wal")).size;
    const bytesOfOneWrite = async (scope: string): Promise<number> => {
      const before = logBytes();
      await write(state, scope, 20_007);
      return logBytes() - before;
    };
    await write(state, "other", 1);
    const [small, large] = [await bytesOfOneWrite("small"), await bytesOfOneWrite("large")];
    expect(small).toBeGreaterThanOrEqual(PAGE_BYTES);
    expect(large).toBeLessThanOrEqual(small + 2 * PAGE_BYTES);
    await state.close();
  });

  it("finishes what was asked for when it is closed", async () => {
    const folder = freshFolder();
    const before = await openIn(folder);
    const writes = Array.from({ length: 500 }, (_, index) => before.set("s", `k${index}`, newValue("1"), newWrite()));
    await before.close();
    expect(await Promise.all(writes)).toHaveLength(500);
    const after = await openIn(folder);
    expect((await after.page("s", { prefix: "", after: undefined, limit: 1, maxBytes: 1 })).total).toBe(500);
    await after.close();
  });

  it("continues from the stored state after one of several writes failed", async () => {
    const folder = freshFolder();
    const state = await openIn(folder);
    await state.set("s", "k", newValue('"old"'), newWrite());
    await state.set("s", "other", newValue("1"), newWrite());
    // A constraint of the database rejects this value.
    const outside = openDatabase(join(folder, "state.db"));
    outside.exec(
      `CREATE TRIGGER refuse BEFORE UPDATE ON items WHEN NEW.json = '"refused"' BEGIN SELECT RAISE(ABORT, 'refused by a test'); END`,
    );
    outside.close();
    const outcomes = await Promise.allSettled([
      state.set("s", "other", newValue("2"), newWrite()),
      state.set("s", "k", newValue('"refused"'), newWrite()),
      state.get("s", "k"),
      state.set("s", "more", newValue("3"), newWrite()),
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    expect(outcomes[1]).toMatchObject({ reason: { code: "storage_failed", message: "set: refused by a test" } });
    expect(outcomes[2]).toMatchObject({ value: { json: '"old"' } });
    expect(await state.get("s", "k")).toMatchObject({ json: '"old"', version: 1 });
    expect(await state.get("s", "other")).toMatchObject({ json: "2", version: 2 });
    expect(await state.set("s", "k", newValue('"new"'), newWrite())).toMatchObject({
      previous: '"old"',
      item: { version: 2 },
    });
    await state.close();
  });

  it("remembers emptied scopes together once they are very many, and still never repeats a version", async () => {
    const folder = freshFolder();
    const before = await openIn(folder);
    const scopes = Array.from({ length: 10_001 }, (_, index) => `scope-${index}`);
    for (let start = 0; start < scopes.length; start += 2_000) {
      const batch = scopes.slice(start, start + 2_000);
      await Promise.all(
        batch.flatMap((scope) => [
          before.set(scope, "k", newValue("1"), newWrite()),
          before.delete(scope, "k", newWrite()),
        ]),
      );
    }
    await before.close();
    await (await openIn(folder)).close();
    const outside = openDatabase(join(folder, "state.db"));
    expect(outside.prepare("SELECT count(*) AS scopes FROM scopes").get()).toMatchObject({ scopes: 0 });
    outside.close();
    const after = await openIn(folder);
    expect(await after.set("scope-7", "k", newValue("1"), newWrite())).toMatchObject({ item: { version: 3 } });
    await after.close();
  });

  it("creates the folder of file_path, for its owner only, or says why it cannot", async () => {
    const folder = freshFolder();
    const outside = freshFolder();
    for (const [filePath, created] of [
      ["./data/deep/state_store.db", join(folder, "data", "deep")],
      [join(outside, "other", "state_store.db"), join(outside, "other")],
    ] as const) {
      const state = await openIn(folder, { filePath });
      expect(statSync(created).mode & 0o777).toBe(0o700);
      await state.close();
    }
    writeFileSync(join(folder, "file"), "");
    await expect(openIn(folder, { filePath: "file/state_store.db" })).rejects.toThrow(
      /state_store\.db cannot be opened: .*file is a file, not a folder/,
    );
  });

  it("says what to do when file_path is a folder", async () => {
    const folder = freshFolder();
    mkdirSync(join(folder, "state_store.db"));
    await expect(openIn(folder, { filePath: "state_store.db" })).rejects.toThrow(
      /state_store\.db is a folder.*set a file/,
    );
  });

  it("keeps other engines off a folder outside of the data folder, and lets several modules have files there", async () => {
    const folder = freshFolder();
    const first = await openIn(freshFolder(), { filePath: join(folder, "one.db") });
    const second = await openIn(freshFolder(), { filePath: join(folder, "two.db") });
    await first.close();
    expect(() => lockDataFolder(folder)).toThrow(`in use by another engine (pid ${process.pid}`);
    await second.close();
    lockDataFolder(folder).release();
  });

  it("keeps a second module of the same engine off its file", async () => {
    const folder = freshFolder();
    const first = await openIn(folder, { filePath: "one.db" });
    await expect(openIn(folder, { filePath: "./one.db" })).rejects.toThrow(
      /one\.db is in use by another module of this engine/,
    );
    await first.close();
    const second = await openIn(folder, { filePath: "one.db" });
    await second.close();
  });

  it("does not start where it cannot write, says where, and keeps nothing in memory instead", async () => {
    const file = join(freshFolder(), "a-file");
    writeFileSync(file, "");
    await expect(openIn(join(file, "below"))).rejects.toThrow(
      /state\.db cannot be opened: .*a-file is a file, not a folder; its folder must exist, be writable/,
    );
    // Even root cannot create files here.
    await expect(openIn("/proc/self")).rejects.toThrow(/\/proc\/self\/state\.db cannot be opened/);
  });

  it("does not start on a damaged file after an unclean stop, and names file, page and what to do", async () => {
    const folder = freshFolder();
    const file = join(folder, "state.db");
    const before = await openIn(folder);
    for (let index = 0; index < 200; index++)
      await before.set("s", `k${index}`, newValue(JSON.stringify("x".repeat(500))), newWrite());
    await before.close();
    const bytes = readFileSync(file);
    bytes.fill(0xee, 10 * 4096, 11 * 4096);
    writeFileSync(file, bytes);
    writeFileSync(`${file}-wal`, "what a killed process left");
    await expect(openIn(folder)).rejects.toThrow(
      /state\.db is damaged: .*[Pp]age \d+.*Nothing was changed.*sqlite3 .* \.recover/,
    );
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });

  it("says that it is relaxed, and has all there after it was closed and opened", async () => {
    const folder = freshFolder();
    const before = await openIn(folder, { durability: "relaxed" });
    expect(before.durability).toBe("relaxed");
    await before.set("s", "k", newValue("1"), newWrite());
    await before.close();
    const after = await openIn(folder);
    expect(after.durability).toBe("durable");
    expect(await after.get("s", "k")).toMatchObject({ json: "1" });
    await after.close();
  });

  it("refuses a file that is no database, and leaves it as it is", async () => {
    const folder = freshFolder();
    const file = join(folder, "state.db");
    writeFileSync(file, "not a database. ".repeat(500));
    await expect(openIn(folder)).rejects.toThrow(/state\.db is damaged: file is not a database.*\.recover/);
    expect(readFileSync(file, "utf8")).toBe("not a database. ".repeat(500));
  });
});
