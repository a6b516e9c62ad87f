import { expect, it } from "vitest";
import { newValue, newWrite, type Suite, written } from "./harness.ts";

export function orderTests(suite: Suite): void {
  it("lets exactly one of many writers win who expect the same version", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => suite.set("s", "k", String(index), { ifVersion: 0 })),
    );
    expect(outcomes.filter((outcome) => outcome.status === "written")).toHaveLength(1);
  });

  it("applies writes to one key in the order in which they were asked for", async () => {
    const outcomes = await Promise.all(Array.from({ length: 100 }, (_, index) => suite.set("s", "k", String(index))));
    expect(outcomes.map((outcome) => written(outcome).item?.version)).toEqual(
      Array.from({ length: 100 }, (_, index) => index + 1),
    );
    expect(outcomes.map((outcome) => written(outcome).previous)).toEqual([
      undefined,
      ...Array.from({ length: 99 }, (_, index) => String(index)),
    ]);
    expect((await suite.store.get("s", "k"))?.json).toBe("99");
  });

  it("shows a write to every read that starts after the write resolved", async () => {
    const seen: boolean[] = [];
    async function writeThenRead(key: string): Promise<void> {
      for (let round = 0; round < 20; round++) {
        const { version } = await suite.put("s", key, String(round));
        seen.push(((await suite.store.get("s", key))?.version ?? 0) >= version);
      }
    }
    await Promise.all(["a", "a", "b", "b", "b"].map(writeThenRead));
    expect(seen).toHaveLength(100);
    expect(seen.every(Boolean)).toBe(true);
  });

  it("gives a read beside a write the old or the new value", async () => {
    await suite.put("s", "k", '"old"');
    const reads = [suite.store.get("s", "k")];
    const write = suite.put("s", "k", '"new"');
    reads.push(suite.store.get("s", "k"), suite.store.get("s", "k"));
    for (const item of await Promise.all(reads)) expect(['"old"', '"new"']).toContain(item?.json);
    await write;
    expect((await suite.store.get("s", "k"))?.json).toBe('"new"');
  });

  it("settles calls on one key in the order of the work, whatever they are", async () => {
    const settled: number[] = [];
    const calls: readonly (() => Promise<unknown>)[] = [
      () => suite.set("s", "k", "1"),
      () => suite.update("s", "k", [{ type: "increment", path: "", by: 1 }]),
      () => suite.delete("s", "k"),
      () => suite.store.writeMany([{ type: "set", scope: "s", key: "k", value: newValue("3"), write: newWrite() }]),
      () => suite.set("s", "k", "4", { ifVersion: 77 }),
      () => suite.store.getMany("s", ["k"]),
      () => suite.delete("s", "k"),
    ];
    const rounds = Array.from({ length: 5 }, () => calls).flat();
    await Promise.all(rounds.map((call, index) => call().then(() => settled.push(index))));
    expect(settled).toEqual(rounds.map((_, index) => index));
  });

  it("counts 400 increments of four writers to exactly 400 (S-2)", async () => {
    const increment = () => suite.update("s", "counter", [{ type: "increment", path: "", by: 1 }]);
    async function writer(): Promise<void> {
      for (let round = 0; round < 100; round++) await increment();
    }
    await Promise.all([writer(), writer(), writer(), writer()]);
    expect(await suite.store.get("s", "counter")).toMatchObject({ json: "400", version: 400 });
  });
}
