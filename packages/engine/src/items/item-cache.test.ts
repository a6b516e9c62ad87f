import { describe, expect, it } from "vitest";
import { ItemCache } from "./item-cache.ts";
import type { Item } from "./item-store.ts";

function item(key: string, characters = 0): Item {
  return { key, json: "x".repeat(characters), version: 1, updatedAt: 0, bytes: characters, expiresAt: undefined };
}

describe("the item cache", () => {
  it("knows what was put, that an item does not exist, and nothing else", () => {
    const cache = new ItemCache(10_000);
    cache.put("s", "a", item("a"));
    cache.put("s", "gone", undefined);
    expect(cache.find("s", "a")?.item?.key).toBe("a");
    expect(cache.find("s", "gone")).toMatchObject({ item: undefined });
    expect(cache.find("s", "b")).toBeUndefined();
    cache.put("1", "2:b", item("first"));
    cache.put("12", ":b", item("second"));
    expect(cache.find("1", "2:b")?.item?.key).toBe("first");
  });

  it("stays within its bytes and lets go what was not used for longest", () => {
    const cache = new ItemCache(5_000);
    for (const key of ["a", "b", "c"]) cache.put("s", key, item(key, 500));
    expect(cache.find("s", "a")).toBeDefined();
    cache.put("s", "d", item("d", 500));
    expect(cache.find("s", "b")).toBeUndefined();
    expect(["a", "c", "d"].map((key) => cache.find("s", key)?.item?.key)).toEqual(["a", "c", "d"]);
    expect(cache.bytes).toBeLessThanOrEqual(5_000);
  });

  it("counts a replaced item once and forgets one that is too large to keep", () => {
    const cache = new ItemCache(5_000);
    for (let round = 0; round < 100; round++) cache.put("s", "a", item("a", 1_000));
    expect(cache.bytes).toBeLessThan(3_000);
    cache.put("s", "a", item("a", 10_000));
    expect(cache.find("s", "a")).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });
});
