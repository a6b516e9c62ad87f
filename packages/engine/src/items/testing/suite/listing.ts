import { expect, it } from "vitest";
import { compareKeys } from "../../key-order.ts";
import { type Suite, wholeScope } from "./harness.ts";

export function listingTests(suite: Suite): void {
  it("distinguishes scopes and keys of any Unicode text", async () => {
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
    for (const scope of names) for (const key of names) await suite.put(scope, key, JSON.stringify([scope, key]));
    for (const scope of names) {
      for (const key of names) expect((await suite.store.get(scope, key))?.json).toBe(JSON.stringify([scope, key]));
      expect((await suite.store.page(scope, wholeScope)).items.map((item) => item.key)).toEqual(
        [...names].sort(compareKeys),
      );
    }
    expect(await suite.store.scopes({ prefix: "" })).toEqual([...names].sort(compareKeys));
  });

  it("lists the values of a scope in the order of their keys", async () => {
    await suite.put("s", "b", "2");
    await suite.put("s", "a", "1");
    await suite.put("other", "c", "3");
    expect(await suite.store.list("s", { maxBytes: 2 })).toEqual({ status: "complete", values: ["1", "2"] });
    expect(await suite.store.list("nothing", { maxBytes: 0 })).toEqual({ status: "complete", values: [] });
  });

  it("says how large a scope is that is over the limit of a list", async () => {
    await suite.put("s", "a", '"é"');
    await suite.put("s", "b", "2");
    expect(await suite.store.list("s", { maxBytes: 4 })).toEqual({ status: "too_large", items: 2, bytes: 5 });
  });

  it("pages through a scope by key, each item once", async () => {
    const keys = Array.from({ length: 25 }, (_, index) => `key-${String(index).padStart(2, "0")}`);
    await Promise.all(keys.map((key) => suite.put("s", key, "1")));
    const seen: string[] = [];
    const sizes: number[] = [];
    for (let after: string | undefined, more = true; more; after = seen[seen.length - 1]) {
      const page = await suite.store.page("s", { prefix: "", after, limit: 10, maxBytes: 1_000 });
      expect(page.total).toBe(25);
      seen.push(...page.items.map((item) => item.key));
      sizes.push(page.items.length);
      more = page.more;
    }
    expect(seen).toEqual(keys);
    expect(sizes).toEqual([10, 10, 5]);
  });

  it("continues after the last key, even if that key was deleted and others were added", async () => {
    for (const key of ["a", "c", "e"]) await suite.put("s", key, "1");
    const first = await suite.store.page("s", { ...wholeScope, limit: 2 });
    expect(first.items.map((item) => item.key)).toEqual(["a", "c"]);
    await suite.delete("s", "c");
    await suite.put("s", "b", "1");
    await suite.put("s", "d", "1");
    const second = await suite.store.page("s", { ...wholeScope, after: "c" });
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
    for (const key of keys) await suite.put("s", key, "1");
    for (const prefix of [
      "user:",
      "user",
      "us\u{10ffff}",
      "us",
      "user\ud7ff",
      "user\u0000",
      "user\u0001",
      "nothing",
      "user:1",
    ]) {
      const expected = keys.filter((key) => key.startsWith(prefix)).sort(compareKeys);
      const page = await suite.store.page("s", { ...wholeScope, prefix });
      expect(page.items.map((item) => item.key)).toEqual(expected);
      expect(page).toMatchObject({ total: expected.length, more: false });
      const rest = await suite.store.page("s", { ...wholeScope, prefix, after: expected[0] });
      expect(rest.items.map((item) => item.key)).toEqual(expected[0] === undefined ? expected : expected.slice(1));
    }
    expect(
      (await suite.store.page("s", { ...wholeScope, prefix: "user:", after: "a" })).items.map((item) => item.key),
    ).toEqual(["user:", "user:1", "user:2"]);
  });

  it("ends a page early rather than go over its bytes, but gives at least one item", async () => {
    for (const key of ["a", "b", "c"]) await suite.put("s", key, '"12345678"');
    expect((await suite.store.page("s", { ...wholeScope, maxBytes: 25 })).items).toHaveLength(2);
    expect(await suite.store.page("s", { ...wholeScope, maxBytes: 1 })).toMatchObject({
      items: [{ key: "a" }],
      more: true,
      total: 3,
    });
  });

  it("lists only scopes that hold something", async () => {
    await suite.put("b", "k", "1");
    await suite.put("a", "k", "1");
    await suite.put("gone", "k", "1");
    await suite.delete("gone", "k");
    expect(await suite.store.scopes({ prefix: "" })).toEqual(["a", "b"]);
  });

  it("answers many items in the order of their keys asked for", async () => {
    await suite.put("s", "a", "1");
    await suite.put("s", "b", "2");
    const items = await suite.store.getMany("s", ["b", "missing", "a", "b"]);
    expect(items.map((item) => item?.json)).toEqual(["2", undefined, "1", "2"]);
    expect(await suite.store.getMany("s", [])).toEqual([]);
  });

  it("refuses to return more than 64 MiB at once", async () => {
    const json = JSON.stringify("x".repeat(8 * 1024 * 1024));
    await suite.put("s", "k", json);
    await expect(
      suite.store.getMany(
        "s",
        Array.from({ length: 9 }, () => "k"),
      ),
    ).rejects.toMatchObject({ code: "payload_too_large" });
    expect(await suite.store.getMany("s", ["k"])).toHaveLength(1);
  });

  it("knows how large scopes are, in pages and by prefix", async () => {
    await suite.put("user:1", "a", '"é"');
    await suite.put("user:1", "b", "1");
    await suite.put("user:2", "a", "12345");
    await suite.put("other", "a", "1");
    await suite.put("user:3", "a", "1");
    await suite.delete("user:3", "a");
    const all = { prefix: "", after: undefined, limit: 10 };
    expect(await suite.store.groups(all)).toEqual({
      groups: [
        { scope: "other", items: 1, bytes: 1 },
        { scope: "user:1", items: 2, bytes: 5 },
        { scope: "user:2", items: 1, bytes: 5 },
      ],
      more: false,
      total: 3,
    });
    await suite.put("user:1", "a", "1");
    await suite.update("user:1", "b", [{ type: "set", path: "", value: 1_000 }]);
    await suite.delete("user:2", "a");
    await suite.put("user:2", "b", "12");
    expect(await suite.store.groups({ ...all, prefix: "user:", limit: 1 })).toEqual({
      groups: [{ scope: "user:1", items: 2, bytes: 5 }],
      more: true,
      total: 2,
    });
    expect(await suite.store.groups({ ...all, prefix: "user:", after: "user:1" })).toEqual({
      groups: [{ scope: "user:2", items: 1, bytes: 2 }],
      more: false,
      total: 2,
    });
    expect(await suite.store.scopes({ prefix: "user:" })).toEqual(["user:1", "user:2"]);
    expect(await suite.store.scopes({ prefix: "nothing" })).toEqual([]);
  });
}
