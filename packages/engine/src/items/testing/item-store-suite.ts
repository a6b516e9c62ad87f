import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { BasicItems, NewValue, StoredItem, Written } from "../item-store.ts";
import { compareKeys } from "../key-order.ts";

const always = { ifVersion: undefined };
const wholeScope = { prefix: "", after: undefined, limit: 1_000, maxBytes: 1_000_000 };

/** Makes the value that is stored as `json`. */
export function newValue(json: string, now = 1_000): NewValue {
  return { json, bytes: Buffer.byteLength(json), now };
}

/** What every adapter of the state promises, as tests. `open` gives an adapter that holds nothing; the suite closes it. */
export function itemStoreSuite(name: string, open: () => Promise<BasicItems>): void {
  describe(`state adapter ${name}`, () => {
    let state: BasicItems;
    beforeEach(async () => {
      state = await open();
    });
    afterEach(() => state.close());

    async function set(scope: string, key: string, json: string): Promise<StoredItem> {
      return written(await state.set(scope, key, newValue(json), always)).item;
    }

    it("gives back the very JSON that was set", async () => {
      for (const json of ["null", "0", "-0.5", '""', "9007199254740993", '{"b":1,"a":[{"__proto__":{"x":1}}]}', '"\\ud800 \\u0000 \u{1f600}"', "[]", "1e400"]) {
        await set("s", "k", json);
        expect((await state.get("s", "k"))?.json).toBe(json);
      }
    });

    it("knows nothing of an item that was never set", async () => {
      expect(await state.get("s", "k")).toBeUndefined();
      await set("s", "k", "1");
      expect(await state.get("s", "other")).toBeUndefined();
      expect(await state.get("other", "k")).toBeUndefined();
    });

    it("answers a set with the JSON before it and the item as it is now", async () => {
      expect(await state.set("s", "k", newValue("1", 5), always)).toEqual({
        status: "written",
        previous: undefined,
        item: { key: "k", json: "1", version: 1, updatedAt: 5, bytes: 1 },
      });
      expect(await state.set("s", "k", newValue('"é"', 6), always)).toEqual({
        status: "written",
        previous: "1",
        item: { key: "k", json: '"é"', version: 2, updatedAt: 6, bytes: 4 },
      });
    });

    it("keeps version and time when a set changes nothing", async () => {
      await state.set("s", "k", newValue("[1]", 5), always);
      const item = { key: "k", json: "[1]", version: 1, updatedAt: 5, bytes: 3 };
      expect(await state.set("s", "k", newValue("[1]", 9), always)).toEqual({ status: "unchanged", previous: "[1]", item });
      expect(await state.get("s", "k")).toEqual(item);
    });

    it("never gives a key the same version twice, deletions included", async () => {
      const versions: number[] = [];
      for (let round = 0; round < 3; round++) {
        versions.push((await set("s", "k", "1")).version, (await set("s", "k", "2")).version);
        await state.delete("s", "k", always);
      }
      expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
      expect((await set("untouched", "k", "1")).version).toBe(1);
    });

    it("deletes an item and answers what was there", async () => {
      await set("s", "k", "[1,2]");
      expect(await state.delete("s", "k", always)).toEqual({ status: "removed", previous: "[1,2]" });
      expect(await state.get("s", "k")).toBeUndefined();
      expect(await state.delete("s", "k", always)).toEqual({ status: "absent" });
    });

    it("writes only at the expected version when one is given", async () => {
      const expecting = (ifVersion: number) => ({ ifVersion });
      expect(await state.set("s", "k", newValue("1"), expecting(1))).toEqual({ status: "conflict", actual: 0 });
      expect(await state.set("s", "k", newValue("1"), expecting(0))).toMatchObject({ status: "written" });
      expect(await state.set("s", "k", newValue("2"), expecting(0))).toEqual({ status: "conflict", actual: 1 });
      expect(await state.set("s", "k", newValue("2"), expecting(1))).toMatchObject({ status: "written" });
      expect(await state.delete("s", "k", expecting(1))).toEqual({ status: "conflict", actual: 2 });
      expect((await state.get("s", "k"))?.json).toBe("2");
      expect(await state.delete("s", "k", expecting(2))).toMatchObject({ status: "removed" });
      expect(await state.delete("s", "k", expecting(2))).toEqual({ status: "conflict", actual: 0 });
    });

    it("lets exactly one of many writers win who expect the same version", async () => {
      const outcomes = await Promise.all(Array.from({ length: 20 }, (_, index) => state.set("s", "k", newValue(String(index)), { ifVersion: 0 })));
      expect(outcomes.filter((outcome) => outcome.status === "written")).toHaveLength(1);
    });

    it("applies writes to one key in the order in which they were asked for", async () => {
      const outcomes = await Promise.all(Array.from({ length: 100 }, (_, index) => state.set("s", "k", newValue(String(index)), always)));
      expect(outcomes.map((outcome) => written(outcome).item.version)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
      expect(outcomes.map((outcome) => written(outcome).previous)).toEqual([undefined, ...Array.from({ length: 99 }, (_, index) => String(index))]);
      expect((await state.get("s", "k"))?.json).toBe("99");
    });

    it("shows a write to every read that starts after the write resolved", async () => {
      const seen: boolean[] = [];
      async function writeThenRead(key: string): Promise<void> {
        for (let round = 0; round < 20; round++) {
          const { version } = await set("s", key, String(round));
          seen.push(((await state.get("s", key))?.version ?? 0) >= version);
        }
      }
      await Promise.all(["a", "a", "b", "b", "b"].map(writeThenRead));
      expect(seen).toHaveLength(100);
      expect(seen.every(Boolean)).toBe(true);
    });

    it("gives a read beside a write the old or the new value", async () => {
      await set("s", "k", '"old"');
      const reads = [state.get("s", "k")];
      const write = set("s", "k", '"new"');
      reads.push(state.get("s", "k"), state.get("s", "k"));
      for (const item of await Promise.all(reads)) expect(['"old"', '"new"']).toContain(item?.json);
      await write;
      expect((await state.get("s", "k"))?.json).toBe('"new"');
    });

    it("tells apart scopes and keys of any Unicode text", async () => {
      const names = [
        "a",
        "a\u0000",
        "a\u0000b",
        "a\u0001",
        "a\u0001\u0001",
        "a\u0001\u0002",
        "\u0000",
        " ",
        "/",
        "é",
        "e\u0301",
        "\uffff",
        "\u{10000}",
        "😀".repeat(256),
        "constructor",
        "toString",
        "1:a",
      ];
      for (const scope of names) for (const key of names) await set(scope, key, JSON.stringify([scope, key]));
      for (const scope of names) {
        for (const key of names) expect((await state.get(scope, key))?.json).toBe(JSON.stringify([scope, key]));
        expect((await state.page(scope, wholeScope)).items.map((item) => item.key)).toEqual([...names].sort(compareKeys));
      }
      expect(await state.scopes()).toEqual([...names].sort(compareKeys));
    });

    it("lists the values of a scope in the order of their keys", async () => {
      await set("s", "b", "2");
      await set("s", "a", "1");
      await set("other", "c", "3");
      expect(await state.list("s", { maxBytes: 2 })).toEqual({ status: "complete", values: ["1", "2"] });
      expect(await state.list("nothing", { maxBytes: 0 })).toEqual({ status: "complete", values: [] });
    });

    it("says how large a scope is that is over the limit of a list", async () => {
      await set("s", "a", '"é"');
      await set("s", "b", "2");
      expect(await state.list("s", { maxBytes: 4 })).toEqual({ status: "too_large", items: 2, bytes: 5 });
    });

    it("pages through a scope by key, each item once", async () => {
      const keys = Array.from({ length: 25 }, (_, index) => `key-${String(index).padStart(2, "0")}`);
      await Promise.all(keys.map((key) => set("s", key, "1")));
      const seen: string[] = [];
      const sizes: number[] = [];
      for (let after: string | undefined, more = true; more; after = seen[seen.length - 1]) {
        const page = await state.page("s", { prefix: "", after, limit: 10, maxBytes: 1_000 });
        expect(page.total).toBe(25);
        seen.push(...page.items.map((item) => item.key));
        sizes.push(page.items.length);
        more = page.more;
      }
      expect(seen).toEqual(keys);
      expect(sizes).toEqual([10, 10, 5]);
    });

    it("goes on behind the last key although that key was deleted and others came", async () => {
      for (const key of ["a", "c", "e"]) await set("s", key, "1");
      const first = await state.page("s", { ...wholeScope, limit: 2 });
      expect(first.items.map((item) => item.key)).toEqual(["a", "c"]);
      await state.delete("s", "c", always);
      await set("s", "b", "1");
      await set("s", "d", "1");
      const second = await state.page("s", { ...wholeScope, after: "c" });
      expect(second.items.map((item) => item.key)).toEqual(["d", "e"]);
      expect(second).toMatchObject({ more: false, total: 4 });
    });

    it("finds keys by prefix, up to the last characters there are", async () => {
      const keys = [
        "user",
        "user:",
        "user:1",
        "user:2",
        "user;",
        "use",
        "us\u{10ffff}",
        "us\u{10ffff}x",
        "ut",
        "user\ud7ff",
        "user\ue000",
        "user\u0000",
        "user\u0000x",
        "user\u0001",
      ];
      for (const key of keys) await set("s", key, "1");
      for (const prefix of ["user:", "user", "us\u{10ffff}", "us", "user\ud7ff", "user\u0000", "user\u0001", "nothing", "user:1"]) {
        const expected = keys.filter((key) => key.startsWith(prefix)).sort(compareKeys);
        const page = await state.page("s", { ...wholeScope, prefix });
        expect(page.items.map((item) => item.key)).toEqual(expected);
        expect(page).toMatchObject({ total: expected.length, more: false });
        const rest = await state.page("s", { ...wholeScope, prefix, after: expected[0] });
        expect(rest.items.map((item) => item.key)).toEqual(expected[0] === undefined ? expected : expected.slice(1));
      }
      expect((await state.page("s", { ...wholeScope, prefix: "user:", after: "a" })).items.map((item) => item.key)).toEqual(["user:", "user:1", "user:2"]);
    });

    it("ends a page early rather than go over its bytes, but gives at least one item", async () => {
      for (const key of ["a", "b", "c"]) await set("s", key, '"12345678"');
      expect((await state.page("s", { ...wholeScope, maxBytes: 25 })).items).toHaveLength(2);
      expect(await state.page("s", { ...wholeScope, maxBytes: 1 })).toMatchObject({ items: [{ key: "a" }], more: true, total: 3 });
    });

    it("lists only scopes that hold something", async () => {
      await set("b", "k", "1");
      await set("a", "k", "1");
      await set("gone", "k", "1");
      await state.delete("gone", "k", always);
      expect(await state.scopes()).toEqual(["a", "b"]);
    });

    it("holds a value of 8 MiB", async () => {
      const json = JSON.stringify("x".repeat(8 * 1024 * 1024 - 2));
      await set("s", "k", json);
      expect((await state.get("s", "k"))?.json === json).toBe(true);
      expect((await state.page("s", wholeScope)).items[0]?.bytes).toBe(8 * 1024 * 1024);
    });

    it("refuses everything after it was closed", async () => {
      await state.close();
      await expect(state.get("s", "k")).rejects.toMatchObject({ code: "draining" });
      await expect(state.set("s", "k", newValue("1"), always)).rejects.toMatchObject({ code: "draining" });
      await expect(state.scopes()).rejects.toMatchObject({ code: "draining" });
    });
  });
}

function written(outcome: Awaited<ReturnType<BasicItems["set"]>>): Written {
  if (outcome.status === "conflict") throw new Error(`a set found version ${outcome.actual}`);
  return outcome;
}
