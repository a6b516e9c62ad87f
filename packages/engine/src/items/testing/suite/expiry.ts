import { expect, it } from "vitest";
import { newValue, newWrite, noticeFor, type Suite, wholeScope } from "./harness.ts";

export function expiryTests(suite: Suite): void {
  /** Creates an item `k` in scope `s` with version 2 that expired 1 ms ago. */
  async function pastEnd(): Promise<void> {
    await suite.put("s", "k", "1");
    await suite.put("s", "k", '"old"', { expiresAt: suite.clock.time + 100 });
    suite.clock.time += 101;
  }

  it("returns the expiry time of an item, and keeps the item until then", async () => {
    const end = suite.clock.time + 100;
    await suite.put("s", "k", "1", { expiresAt: end });
    suite.clock.time = end - 1;
    expect(await suite.store.get("s", "k")).toMatchObject({ json: "1", expiresAt: end });
    expect((await suite.store.page("s", wholeScope)).items).toMatchObject([{ key: "k", expiresAt: end }]);
    suite.clock.time = end;
    expect(await suite.store.get("s", "k")).toBeUndefined();
  });

  it.each([
    ["two hours back", -7_200_000],
    ["two hours on", 7_200_000],
    ["a year on", 31_536_000_000],
  ])("moves an end along when the clock is set %s", async (_, byMs) => {
    const end = suite.clock.time + 10_000;
    await suite.put("s", "k", "1", { expiresAt: end });
    await suite.put("s", "stays", "2");
    expect(await suite.store.get("s", "k")).toMatchObject({ expiresAt: end });
    suite.clock.setByMs = byMs;
    const now = suite.clock.now();
    expect(await suite.store.get("s", "k")).toMatchObject({ json: "1", expiresAt: end + byMs });
    expect(await suite.store.getMany("s", ["k", "stays"])).toMatchObject([
      { expiresAt: end + byMs },
      { expiresAt: undefined },
    ]);
    expect(await suite.store.list("s", { maxBytes: 100 })).toMatchObject({ values: ["1", "2"] });
    expect((await suite.store.page("s", wholeScope)).items).toMatchObject([
      { key: "k", expiresAt: end + byMs },
      { key: "stays" },
    ]);
    expect(
      await suite.update("s", "k", [{ type: "increment", path: "", by: 1 }], { now, expiresAt: "keep" }),
    ).toMatchObject({
      status: "written",
      item: { version: 2, updatedAt: now, expiresAt: end + byMs },
    });
    expect(await suite.store.nextExpiry()).toBe(end + byMs);
    expect(await suite.store.expired(now, 10)).toEqual([]);
    suite.clock.time = end - 1;
    expect(await suite.store.get("s", "k")).toMatchObject({ json: "2" });
    suite.clock.time = end;
    expect(await suite.store.get("s", "k")).toBeUndefined();
    expect(await suite.store.expired(suite.clock.now(), 10)).toEqual([{ scope: "s", key: "k", version: 2 }]);
    expect(await suite.set("s", "k", "3", { now: suite.clock.now(), ifVersion: 0 })).toMatchObject({
      status: "written",
      item: { version: 4 },
    });
  });

  it("keeps an end when the clock is set on for a moment and back", async () => {
    const end = suite.clock.time + 10_000;
    await suite.put("s", "k", "1", { expiresAt: end });
    suite.clock.setByMs = 31_536_000_000;
    await suite.put("s", "other", "2", { expiresAt: suite.clock.now() + 5_000 });
    expect(await suite.store.expired(suite.clock.now(), 10)).toEqual([]);
    suite.clock.setByMs = 0;
    expect(await suite.store.get("s", "other")).toMatchObject({ expiresAt: suite.clock.time + 5_000 });
    expect(await suite.store.get("s", "k")).toMatchObject({ expiresAt: end });
  });

  it("hides an expired item from every read", async () => {
    await pastEnd();
    await suite.put("s", "other", "2");
    expect(await suite.store.getMany("s", ["k", "other"])).toMatchObject([undefined, { key: "other" }]);
    expect(await suite.store.list("s", { maxBytes: 1 })).toEqual({ status: "complete", values: ["2"] });
    expect(await suite.store.page("s", { ...wholeScope, limit: 1 })).toMatchObject({
      items: [{ key: "other" }],
      more: false,
    });
  });

  it("deletes an expired item before it creates it again, each with its own version", async () => {
    await pastEnd();
    const now = suite.clock.time;
    expect(await suite.set("s", "k", '"old"', { notice: noticeFor(["w"]) })).toMatchObject({
      status: "written",
      previous: undefined,
      item: { json: '"old"', version: 4, expiresAt: undefined, updatedAt: now },
      changes: [
        {
          kind: "deleted",
          version: 3,
          previous: '"old"',
          json: undefined,
          at: now,
          seq: expect.any(Number),
          watchers: ["w"],
        },
        {
          kind: "created",
          version: 4,
          previous: undefined,
          json: '"old"',
          at: now,
          seq: expect.any(Number),
          watchers: ["w"],
        },
      ],
    });
    expect(await suite.store.outbox.pending({ watcher: "w", after: 0, limit: 10, maxBytes: 1_000 })).toMatchObject([
      { change: { kind: "deleted", version: 3 } },
      { change: { kind: "created", version: 4 } },
    ]);
    expect(await suite.store.nextExpiry()).toBeUndefined();
    expect((await suite.store.groups({ prefix: "", after: undefined, limit: 10 })).groups).toEqual([
      { scope: "s", items: 1, bytes: 5 },
    ]);
  });

  it("starts an update of an expired item with a new item", async () => {
    await pastEnd();
    expect(await suite.update("s", "k", [{ type: "increment", path: "n", by: 2 }])).toMatchObject({
      previous: undefined,
      item: { json: '{"n":2}', version: 4, expiresAt: undefined },
      changes: [
        { kind: "deleted", version: 3 },
        { kind: "created", version: 4 },
      ],
    });
  });

  it("leaves an expired item to the sweep if an update of it fails", async () => {
    await pastEnd();
    expect(await suite.update("s", "k", [{ type: "increment", path: ["__proto__"], by: 2 }])).toMatchObject({
      status: "unchanged",
      item: undefined,
      changes: [],
    });
    expect(await suite.store.expired(suite.clock.time, 10)).toEqual([{ scope: "s", key: "k", version: 2 }]);
  });

  it("treats an expired item as missing when a version is expected", async () => {
    await pastEnd();
    expect(await suite.set("s", "k", "1", { ifVersion: 2 })).toEqual({ status: "conflict", actual: 0 });
    expect(await suite.update("s", "k", [], { ifVersion: 2 })).toEqual({ status: "conflict", actual: 0 });
    expect(await suite.delete("s", "k", { ifVersion: 1 })).toEqual({ status: "conflict", actual: 0 });
    expect(await suite.set("s", "k", "1", { ifVersion: 0 })).toMatchObject({ status: "written", item: { version: 4 } });
  });

  it("returns no old value for the deletion of an expired item, but publishes it", async () => {
    await pastEnd();
    expect(await suite.delete("s", "k")).toMatchObject({
      status: "written",
      previous: undefined,
      item: undefined,
      changes: [{ kind: "deleted", version: 3, previous: '"old"' }],
    });
    expect(await suite.delete("s", "k")).toMatchObject({ status: "unchanged", changes: [] });
  });

  it("finds what ended, first ends first, until someone deletes it by its version", async () => {
    const now = suite.clock.time;
    for (const [key, end] of [
      ["c", 30],
      ["a", 10],
      ["d", 40],
      ["b", 20],
    ] as const)
      await suite.put("s", key, "1", { expiresAt: now + end });
    await suite.put("s", "stays", "1");
    expect(await suite.store.nextExpiry()).toBe(now + 10);
    expect(await suite.store.expired(now + 9, 10)).toEqual([]);
    const ended = await suite.store.expired(now + 30, 2);
    expect(ended).toEqual([
      { scope: "s", key: "a", version: 1 },
      { scope: "s", key: "b", version: 1 },
    ]);
    expect((await suite.store.expired(now + 30, 10)).map(({ key }) => key)).toEqual(["a", "b", "c"]);
    suite.clock.time = now + 30;
    for (const { scope, key, version } of ended) {
      expect(await suite.delete(scope, key, { ifVersion: version })).toMatchObject({
        status: "written",
        changes: [{ kind: "deleted", version: 2 }],
      });
    }
    expect(await suite.store.nextExpiry()).toBe(now + 30);
    expect((await suite.store.expired(now + 1_000, 10)).map(({ key }) => key)).toEqual(["c", "d"]);
  });

  it("moves the end with a set of the same JSON, without a new version", async () => {
    const now = suite.clock.time;
    await suite.put("s", "k", "1", { expiresAt: now + 10 });
    expect(await suite.set("s", "k", "1", { expiresAt: now + 20, now: now + 5 })).toMatchObject({
      status: "unchanged",
      item: { version: 1, updatedAt: now, expiresAt: now + 20 },
      changes: [],
    });
    expect(await suite.store.nextExpiry()).toBe(now + 20);
    expect(await suite.store.get("s", "k")).toMatchObject({ expiresAt: now + 20 });
    expect(await suite.store.expired(now + 15, 10)).toEqual([]);
    await suite.put("s", "k", "1", { expiresAt: now + 10 });
    expect((await suite.store.expired(now + 15, 10)).map(({ key }) => key)).toEqual(["k"]);
    await suite.put("s", "k", "1");
    expect(await suite.store.nextExpiry()).toBeUndefined();
  });

  it("keeps, moves or drops the end with an update", async () => {
    const end = suite.clock.time + 10;
    const increment = [{ type: "increment", path: "", by: 1 }] as const;
    await suite.put("s", "k", "1", { expiresAt: end });
    expect(await suite.update("s", "k", increment)).toMatchObject({ item: { json: "2", expiresAt: end } });
    expect(await suite.update("s", "k", increment, { expiresAt: end + 5 })).toMatchObject({
      item: { json: "3", expiresAt: end + 5 },
    });
    expect(await suite.store.nextExpiry()).toBe(end + 5);
    expect(await suite.update("s", "k", increment, { expiresAt: undefined })).toMatchObject({
      item: { json: "4", expiresAt: undefined },
    });
    expect(await suite.store.nextExpiry()).toBeUndefined();
  });

  it("forgets the end of a deleted item", async () => {
    await suite.put("s", "k", "1", { expiresAt: suite.clock.time + 10 });
    await suite.delete("s", "k");
    expect(await suite.store.nextExpiry()).toBeUndefined();
    await suite.store.writeMany([{ type: "set", scope: "s", key: "k", value: newValue("1"), write: newWrite() }]);
    expect(await suite.store.expired(suite.clock.time + 1_000, 10)).toEqual([]);
  });
}
