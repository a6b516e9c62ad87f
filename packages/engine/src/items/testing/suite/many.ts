import { expect, it } from "vitest";
import type { BatchedWrite, ItemWrite } from "../../item-store.ts";
import { newValue, newWrite, noticeFor, type Suite } from "./harness.ts";

function setting(scope: string, key: string, json: string, write: Partial<ItemWrite> = {}): BatchedWrite {
  return { type: "set", scope, key, value: newValue(json), write: newWrite(write) };
}

function deleting(scope: string, key: string, write: Partial<ItemWrite> = {}): BatchedWrite {
  return { type: "delete", scope, key, write: newWrite(write) };
}

export function manyTests(suite: Suite): void {
  it("does many writes in order, in one go", async () => {
    await suite.put("s", "old", "0");
    const outcome = await suite.store.writeMany([
      setting("s", "a", "1", { ifVersion: 0 }),
      setting("t", "b", "2"),
      setting("s", "a", "3", { ifVersion: 1 }),
      deleting("s", "old", { ifVersion: 1 }),
      deleting("s", "missing"),
      setting("s", "old", "4", { ifVersion: 0 }),
      setting("t", "b", "2"),
    ]);
    expect(outcome).toMatchObject({
      status: "written",
      writes: [
        { status: "written", previous: undefined, item: { key: "a", version: 1 }, changes: [{ kind: "created" }] },
        { status: "written", item: { key: "b", json: "2" } },
        { status: "written", previous: "1", item: { version: 2 }, changes: [{ kind: "updated" }] },
        { status: "written", previous: "0", item: undefined, changes: [{ kind: "deleted", version: 2 }] },
        { status: "unchanged", item: undefined, changes: [] },
        { status: "written", item: { version: 3 }, changes: [{ kind: "created", version: 3 }] },
        { status: "unchanged", changes: [] },
      ],
    });
    expect((await suite.store.getMany("s", ["a", "old"])).map((item) => item?.json)).toEqual(["3", "4"]);
    expect((await suite.store.groups({ prefix: "", after: undefined, limit: 10 })).groups).toEqual([
      { scope: "s", items: 2, bytes: 2 },
      { scope: "t", items: 1, bytes: 1 },
    ]);
  });

  it("does none of them when one meets another version, and says which", async () => {
    await suite.put("s", "a", "1");
    const outcome = await suite.store.writeMany([
      setting("s", "a", "2", { notice: noticeFor(["w"]) }),
      deleting("s", "a"),
      setting("s", "new", "1"),
      setting("s", "a", "3", { ifVersion: 1 }),
    ]);
    expect(outcome).toEqual({ status: "conflict", index: 3, actual: 0 });
    expect(await suite.store.get("s", "a")).toMatchObject({ json: "1", version: 1 });
    expect(await suite.store.get("s", "new")).toBeUndefined();
    expect(await suite.store.outbox.watchers()).toEqual([]);
    expect((await suite.put("s", "a", "4")).version).toBe(2);
  });

  it("shows no other call a part of them", async () => {
    const write = (json: string) => suite.store.writeMany([setting("s", "a", json), setting("s", "b", json)]);
    const reads: Promise<readonly (string | undefined)[]>[] = [];
    const writes: Promise<unknown>[] = [];
    for (let round = 0; round < 50; round++) {
      writes.push(write(String(round)));
      reads.push(suite.store.getMany("s", ["a", "b"]).then((items) => items.map((item) => item?.json)));
    }
    for (const [a, b] of await Promise.all(reads)) expect(a).toBe(b);
    await Promise.all(writes);
  });

  it("takes a thousand of them", async () => {
    const keys = Array.from({ length: 1_000 }, (_, index) => `k${index}`);
    expect(await suite.store.writeMany(keys.map((key) => setting("s", key, "1")))).toMatchObject({ status: "written" });
    expect(await suite.store.writeMany([])).toEqual({ status: "written", writes: [] });
    expect((await suite.store.groups({ prefix: "", after: undefined, limit: 10 })).groups).toEqual([
      { scope: "s", items: 1_000, bytes: 1_000 },
    ]);
  });
}
