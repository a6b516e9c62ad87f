import { expect, it } from "vitest";
import { type Suite, wholeScope } from "./harness.ts";

export function valueTests(suite: Suite): void {
  it("gives back the very JSON that was set", async () => {
    for (const json of [
      "null",
      "0",
      "-0.5",
      '""',
      "9007199254740993",
      '{"b":1,"a":[{"__proto__":{"x":1}}]}',
      '"\\ud800 \\u0000 \u{1f600}"',
      "[]",
      "1e400",
    ]) {
      await suite.put("s", "k", json);
      expect((await suite.store.get("s", "k"))?.json).toBe(json);
    }
  });

  it("knows nothing of an item that was never set", async () => {
    expect(await suite.store.get("s", "k")).toBeUndefined();
    await suite.put("s", "k", "1");
    expect(await suite.store.get("s", "other")).toBeUndefined();
    expect(await suite.store.get("other", "k")).toBeUndefined();
  });

  it("answers a set with the JSON before it and the item as it is now", async () => {
    expect(await suite.set("s", "k", "1", { now: 5 })).toMatchObject({
      status: "written",
      previous: undefined,
      item: { key: "k", json: "1", version: 1, updatedAt: 5, bytes: 1, expiresAt: undefined },
      changes: [
        {
          kind: "created",
          scope: "s",
          key: "k",
          version: 1,
          previous: undefined,
          json: "1",
          at: 5,
          seq: undefined,
          watchers: [],
        },
      ],
    });
    expect(await suite.set("s", "k", '"é"', { now: 6 })).toMatchObject({
      status: "written",
      previous: "1",
      item: { key: "k", json: '"é"', version: 2, updatedAt: 6, bytes: 4, expiresAt: undefined },
      changes: [
        {
          kind: "updated",
          scope: "s",
          key: "k",
          version: 2,
          previous: "1",
          json: '"é"',
          at: 6,
          seq: undefined,
          watchers: [],
        },
      ],
    });
  });

  it("keeps version and time when a set changes nothing", async () => {
    await suite.set("s", "k", "[1]", { now: 5 });
    const item = { key: "k", json: "[1]", version: 1, updatedAt: 5, bytes: 3, expiresAt: undefined };
    expect(await suite.set("s", "k", "[1]", { now: 9 })).toMatchObject({
      status: "unchanged",
      previous: "[1]",
      item,
      changes: [],
    });
    expect(await suite.store.get("s", "k")).toEqual(item);
  });

  it("never gives a key the same version twice, deletions included", async () => {
    const versions: number[] = [];
    for (let round = 0; round < 3; round++) {
      versions.push((await suite.put("s", "k", "1")).version, (await suite.put("s", "k", "2")).version);
      await suite.delete("s", "k");
    }
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
    expect((await suite.put("untouched", "k", "1")).version).toBe(1);
  });

  it("deletes an item and answers what was there", async () => {
    await suite.put("s", "k", "[1,2]");
    expect(await suite.delete("s", "k", { now: 7 })).toMatchObject({
      status: "written",
      item: undefined,
      previous: "[1,2]",
      changes: [
        {
          kind: "deleted",
          scope: "s",
          key: "k",
          version: 2,
          previous: "[1,2]",
          json: undefined,
          at: 7,
          seq: undefined,
          watchers: [],
        },
      ],
    });
    expect(await suite.store.get("s", "k")).toBeUndefined();
    expect(await suite.delete("s", "k")).toMatchObject({
      status: "unchanged",
      item: undefined,
      previous: undefined,
      changes: [],
    });
  });

  it("writes only at the expected version when one is given", async () => {
    const expecting = (ifVersion: number) => ({ ifVersion });
    expect(await suite.set("s", "k", "1", expecting(1))).toEqual({ status: "conflict", actual: 0 });
    expect(await suite.set("s", "k", "1", expecting(0))).toMatchObject({ status: "written" });
    expect(await suite.set("s", "k", "2", expecting(0))).toEqual({ status: "conflict", actual: 1 });
    expect(await suite.set("s", "k", "2", expecting(1))).toMatchObject({ status: "written" });
    expect(await suite.delete("s", "k", expecting(1))).toEqual({ status: "conflict", actual: 2 });
    expect((await suite.store.get("s", "k"))?.json).toBe("2");
    expect(await suite.delete("s", "k", expecting(2))).toMatchObject({ status: "written" });
    expect(await suite.delete("s", "k", expecting(2))).toEqual({ status: "conflict", actual: 0 });
  });

  it("stores a value of 8 MiB", async () => {
    const json = JSON.stringify("x".repeat(8 * 1024 * 1024 - 2));
    await suite.put("s", "k", json);
    expect((await suite.store.get("s", "k"))?.json === json).toBe(true);
    expect((await suite.store.page("s", wholeScope)).items[0]?.bytes).toBe(8 * 1024 * 1024);
  });
}
