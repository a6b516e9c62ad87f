import { describe, expect, it } from "vitest";
import { TestCluster } from "./testing/cluster.ts";

const cluster = new TestCluster();

describe("a run of a replicated store", () => {
  it("is expelled by a majority; its late entry is refused, and nothing of it is applied", async () => {
    const [a, b] = [await cluster.open("a"), await cluster.open("b")];
    const states: string[] = [];
    const c = await cluster.open("c", { onEnded: (state) => states.push(state) });
    await a.store.call("add", "1");
    expect(a.store.members()).toEqual([a.store.run, b.store.run, c.store.run]);
    c.connection.setUp(false);
    const late = c.store.call("add", "late");
    await a.store.expel(c.store.run);
    await a.store.expel(c.store.run);
    expect(a.store.members()).toContain(c.store.run);
    await b.store.expel(c.store.run);
    expect(b.store.members()).toEqual([a.store.run, b.store.run]);
    c.connection.setUp(true);
    await expect(late).rejects.toMatchObject({ code: "run_expelled", details: { outcome: "not_written" } });
    await expect(c.store.call("texts", null)).rejects.toMatchObject({ code: "run_expelled" });
    expect([states, c.store.problem()]).toEqual([["expelled"], expect.stringContaining("it must join again")]);
    expect(await a.store.call("texts", null)).toEqual(["1"]);
  });

  it("is reported as gone, once and at each other run, when it is expelled or leaves", async () => {
    const [a, b, c] = [await cluster.open("a"), await cluster.open("b"), await cluster.open("c")];
    const gone: [string, readonly string[]][] = [];
    for (const [name, { store }] of Object.entries({ a, b }))
      store.onRunsGone((runs) => {
        expect(store.members()).not.toContain(runs[0]);
        gone.push([name, runs]);
      });
    c.connection.setUp(false);
    await a.store.expel(c.store.run);
    expect(gone).toEqual([]);
    await b.store.expel(c.store.run);
    await a.store.call("texts", null);
    const expelled = [c.store.run];
    expect(gone.sort()).toEqual([
      ["a", expelled],
      ["b", expelled],
    ]);
    await b.store.close();
    await a.store.call("texts", null);
    expect(gone.slice(2)).toEqual([["a", [b.store.run]]]);
  });

  it("has its entries refused that reach the log after its expulsion", async () => {
    const [a, b] = [await cluster.open("a"), await cluster.open("b")];
    let release = (): void => {};
    const c = await cluster.open("c", {
      faults: {
        beforeStored: (id) => (id.endsWith("/2") ? new Promise((resolve) => (release = resolve)) : Promise.resolve()),
      },
    });
    const late = c.store.call("add", "late");
    late.catch(() => {});
    await a.store.expel(c.store.run);
    await b.store.expel(c.store.run);
    const { last } = cluster.log.state();
    release();
    await expect(late).rejects.toMatchObject({ code: "run_expelled" });
    await expect.poll(() => cluster.log.state().last).toBe(last + 1);
    for (const { store } of [a, b]) expect(await store.call("texts", null)).toEqual([]);
    expect(await cluster.hashes(a, b)).toHaveLength(1);
  });

  it("stays if it writes between the votes, and cannot vote against itself", async () => {
    const [a, b, c] = [await cluster.open("a"), await cluster.open("b"), await cluster.open("c")];
    await a.store.expel(c.store.run);
    await c.store.call("add", "1");
    await c.store.expel(c.store.run);
    await b.store.expel(c.store.run);
    expect(b.store.members()).toContain(c.store.run);
  });

  it("that is expelled by its own entry does not expel the last member with the rest of it", async () => {
    const [a, b, c] = [await cluster.open("a"), await cluster.open("b"), await cluster.open("c")];
    await Promise.all([c.store.expel(b.store.run), c.store.expel(a.store.run)]);
    const votes = [a.store.expel(b.store.run), a.store.expel(c.store.run)];
    await Promise.allSettled(votes);
    await c.store.call("texts", null);
    expect(c.store.members()).toEqual([c.store.run]);
  });

  it("of two is expelled by the other", async () => {
    const [a, b] = [await cluster.open("a"), await cluster.open("b")];
    await a.store.expel(b.store.run);
    expect(a.store.members()).toEqual([a.store.run]);
    await expect(b.store.call("add", "1")).rejects.toMatchObject({ code: "run_expelled" });
  });

  it("is expelled when its node comes back as a new run, and leaves when it closes", async () => {
    const [a, b] = [await cluster.open("a"), await cluster.open("b")];
    await b.store.abort();
    const again = await cluster.open("b");
    await a.store.call("texts", null);
    expect(a.store.members()).toEqual([a.store.run, again.store.run]);
    await again.store.close();
    await a.store.call("texts", null);
    expect(a.store.members()).toEqual([a.store.run]);
  });
});
