import { expect, it } from "vitest";
import type { Delivery, Outbox } from "../../outbox.ts";
import { newValue, newWrite, noticeFor, type Suite, written } from "./harness.ts";

export function outboxTests(suite: Suite): void {
  function pending(
    watcher: string,
    request: Partial<Parameters<Outbox["pending"]>[0]> = {},
  ): Promise<readonly Delivery[]> {
    return suite.store.outbox.pending({ watcher, after: 0, limit: 100, maxBytes: 1_000_000, ...request });
  }

  it("keeps each change for those who want its kind, until they were served", async () => {
    const notice = {
      watchers: [
        { id: "all", kinds: new Set(["created", "updated", "deleted"] as const) },
        { id: "ends\u0000 😀", kinds: new Set(["deleted"] as const) },
      ],
      origin: 'trace "1"\u0000',
    };
    const first = written(await suite.set("s\u0000", "k", "1", { notice, now: 5 }));
    await suite.update("s\u0000", "k", [{ type: "increment", path: "", by: 1 }], { notice, now: 6 });
    const last = written(await suite.delete("s\u0000", "k", { notice, now: 7 }));
    expect(first.changes).toMatchObject([{ seq: expect.any(Number), watchers: ["all"] }]);
    expect(last.changes).toMatchObject([{ seq: expect.any(Number), watchers: ["all", "ends\u0000 😀"] }]);
    const all = await pending("all");
    const common = { watcher: "all", origin: 'trace "1"\u0000' };
    expect(all).toEqual([
      {
        ...common,
        seq: first.changes[0]?.seq,
        change: { kind: "created", scope: "s\u0000", key: "k", version: 1, previous: undefined, json: "1", at: 5 },
      },
      {
        ...common,
        seq: expect.any(Number),
        change: { kind: "updated", scope: "s\u0000", key: "k", version: 2, previous: "1", json: "2", at: 6 },
      },
      {
        ...common,
        seq: last.changes[0]?.seq,
        change: { kind: "deleted", scope: "s\u0000", key: "k", version: 3, previous: "2", json: undefined, at: 7 },
      },
    ]);
    expect(all.map(({ seq }) => seq)).toEqual(all.map(({ seq }) => seq).sort((a, b) => a - b));
    expect(await suite.store.outbox.watchers()).toEqual([
      { watcher: "all", waiting: 3 },
      { watcher: "ends\u0000 😀", waiting: 1 },
    ]);
    await suite.store.outbox.acknowledge(all);
    expect(await pending("all")).toEqual([]);
    expect(await pending("ends\u0000 😀")).toMatchObject([{ change: { kind: "deleted", previous: "2" } }]);
    expect(await suite.store.outbox.watchers()).toEqual([{ watcher: "ends\u0000 😀", waiting: 1 }]);
  });

  it("keeps nothing of writes that change nothing, conflict, or concern nobody", async () => {
    await suite.put("s", "k", "1");
    expect(written(await suite.set("s", "k", "1", { notice: noticeFor(["w"]) })).changes).toEqual([]);
    await suite.set("s", "k", "2", { notice: noticeFor(["w"]), ifVersion: 9 });
    await suite.update("s", "k", [{ type: "increment", path: ["a"], by: 1 }], { notice: noticeFor(["w"]) });
    expect(written(await suite.set("s", "k", "2", { notice: noticeFor(["w"], ["deleted"]) })).changes).toMatchObject([
      { seq: undefined, watchers: [] },
    ]);
    await suite.set("s", "k", "3", { notice: noticeFor([]) });
    expect(await suite.store.outbox.watchers()).toEqual([]);
  });

  it("gives deliveries in pages, by number and by bytes", async () => {
    for (let index = 0; index < 5; index++)
      await suite.put("s", `k${index}`, `"1234567${index}"`, { notice: noticeFor(["w"]) });
    const first = await pending("w", { limit: 2 });
    expect(first.map(({ change }) => change.key)).toEqual(["k0", "k1"]);
    const rest = await pending("w", { after: first[1]?.seq ?? 0 });
    expect(rest.map(({ change }) => change.key)).toEqual(["k2", "k3", "k4"]);
    expect(await pending("w", { maxBytes: 1 })).toHaveLength(1);
    expect(await pending("nobody")).toEqual([]);
  });

  it("never gives a number twice, served or not", async () => {
    const seqs: number[] = [];
    for (let index = 0; index < 10; index++) {
      await suite.set("s", "k", String(index), { notice: noticeFor(["w"]) });
      const waiting = await pending("w");
      seqs.push(...waiting.map(({ seq }) => seq));
      await suite.store.outbox.acknowledge(waiting);
      await suite.store.outbox.acknowledge(waiting);
    }
    expect(seqs).toHaveLength(10);
    expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
  });

  it("serves some of a watcher's deliveries and leaves the others", async () => {
    for (let index = 0; index < 3; index++) await suite.set("s", "k", String(index), { notice: noticeFor(["v", "w"]) });
    const [, second] = await pending("w");
    if (second === undefined) throw new Error("three deliveries wait");
    await suite.store.outbox.acknowledge([
      second,
      { seq: 4_711, watcher: "w" },
      { seq: second.seq, watcher: "nobody" },
    ]);
    expect((await pending("w")).map(({ change }) => change.json)).toEqual(["0", "2"]);
    expect(await pending("v")).toHaveLength(3);
  });

  it("forgets what waited when it was asked, and nothing that comes after", async () => {
    for (let start = 0; start < 1_200; start += 600) {
      await suite.store.writeMany(
        Array.from({ length: 600 }, (_, index) => ({
          ...{ type: "set", scope: "s", key: `k${start + index}`, value: newValue("1") },
          write: newWrite({ notice: noticeFor(["w"]) }),
        })),
      );
    }
    const forgotten = suite.store.outbox.discard("w");
    await suite.set("s", "later", "2", { notice: noticeFor(["w"]) });
    expect(await forgotten).toBe(1_200);
    expect(await pending("w")).toMatchObject([{ change: { key: "later" } }]);
  });

  it("forgets a watcher, and no other", async () => {
    for (let index = 0; index < 3; index++) await suite.set("s", "k", String(index), { notice: noticeFor(["v", "w"]) });
    expect(await suite.store.outbox.discard("w")).toBe(3);
    expect(await suite.store.outbox.discard("w")).toBe(0);
    expect(await pending("w")).toEqual([]);
    expect(await pending("v")).toHaveLength(3);
    expect(await suite.store.outbox.watchers()).toEqual([{ watcher: "v", waiting: 3 }]);
  });
}
