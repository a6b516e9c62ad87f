import { describe, expect, it } from "vitest";
import { manualClock } from "../../testing/manual-clock.ts";
import { appliedSuite } from "../testing/applied-suite.ts";
import { ledger, TestCluster } from "./testing/cluster.ts";
import { replicaKinds } from "./testing/open-on-log.ts";

for (const { name, open } of replicaKinds("memory"))
  appliedSuite(name, () => open({ file: undefined, procedures: ledger }));

const cluster = new TestCluster();
const notWritten = { details: { outcome: "not_written" } };

describe("writes of a replicated store", () => {
  it("of one turn are one entry, with the reads between them", async () => {
    const { store } = await cluster.open("a");
    const before = cluster.log.state().last;
    const answers = await Promise.all([store.call("add", "1"), store.call("texts", null), store.call("add", "2")]);
    expect(answers).toEqual([1, ["1"], 1]);
    expect(cluster.log.state().last).toBe(before + 1);
  });

  it("are reported on other nodes in order, with their results", async () => {
    const [a, b] = [await cluster.open("a"), await cluster.open("b")];
    const seen: unknown[] = [];
    b.store.onApplied(({ procedure, input, output, isOwn, mark }) =>
      seen.push([procedure, input, output, isOwn, mark]),
    );
    await Promise.all([a.store.call("add", "1", { mark: "m" }), a.store.call("addThenRefuse", "no").catch(() => {})]);
    await b.store.call("add", "2", { mark: "n" });
    expect(seen).toEqual([
      ["add", "1", 1, false, undefined],
      ["add", "2", 1, true, "n"],
    ]);
  });

  it("settle by the log when each acknowledgement is lost", async () => {
    const { store } = await cluster.open("a", { faults: { onAppend: () => "ackLost" } });
    expect(await store.call("add", "1")).toBe(1);
    expect(await store.call("texts", null)).toEqual(["1"]);
  });

  it("settle by the log when no acknowledgement arrives", async () => {
    const { store } = await cluster.open("a", { faults: { beforeAck: () => new Promise(() => {}) } });
    expect(await store.call("add", "1")).toBe(1);
    expect(await store.call("add", "2")).toBe(1);
  });

  it("are tried again until they are stored", async () => {
    let failures = 3;
    const onAppend = () => (failures-- > 0 ? ("rejectedUnstored" as const) : ("none" as const));
    const { store } = await cluster.open("a", { faults: { onAppend } });
    expect(await store.call("add", "1")).toBe(1);
  });

  it("are applied once if the log stores or delivers an entry several times", async () => {
    const a = await cluster.open("a", { faults: { deliveries: () => 3 } });
    const b = await cluster.open("b");
    await a.store.call("addNumbered", "a");
    const entry = cluster.log.at(cluster.log.state().last);
    cluster.log.forgetIds();
    cluster.log.store(entry?.id ?? "", entry?.bytes ?? new Uint8Array());
    expect(await a.store.call("addNumbered", "b")).toBe(1);
    for (const { store } of [a, b]) expect(await store.call("texts", null)).toEqual(["a#1", "b#2"]);
    expect(await cluster.hashes(a, b)).toHaveLength(1);
  });

  it("that violate a constraint only at the commit fail on every node, and later ones are applied", async () => {
    const [a, b] = [await cluster.open("a"), await cluster.open("b")];
    await expect(a.store.call("breakCommit", null)).rejects.toMatchObject({ code: "storage_failed", ...notWritten });
    await a.store.call("add", "1");
    expect(await b.store.call("texts", null)).toEqual(["1"]);
  });

  it("larger than an entry are applied with their last part, on every node", async () => {
    const [a, b] = [await cluster.open("a"), await cluster.open("b")];
    const before = cluster.log.state().last;
    const large = "é".repeat(800_000);
    await Promise.all([a.store.call("add", "small"), a.store.call("add", large), b.store.call("add", "between")]);
    expect(cluster.log.state().last).toBeGreaterThan(before + 5);
    expect(new Set(await b.store.call("texts", null))).toEqual(new Set(["small", large, "between"]));
    expect(await cluster.hashes(a, b)).toHaveLength(1);
  });

  it("are rejected after the stall time, with what is known of them, and go on when the log answers again", async () => {
    const clock = manualClock();
    const { store, connection } = await cluster.open("a", { clock });
    const b = await cluster.open("b");
    connection.setUp(false);
    const sent = store.call("add", "sent");
    await new Promise((resolve) => process.nextTick(resolve));
    const waiting = store.call("add", "waiting");
    clock.advance(20_000);
    await expect(sent).rejects.toMatchObject({ code: "store_unavailable", details: { outcome: "unknown" } });
    await expect(waiting).rejects.toMatchObject({ code: "store_unavailable", ...notWritten });
    await expect(store.call("add", "late")).rejects.toMatchObject({ code: "store_unavailable", ...notWritten });
    expect(store.problem()).toBe("the log does not answer");
    const applied = new Promise<unknown>((resolve) => store.onApplied(({ input }) => resolve(input)));
    connection.setUp(true);
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(1_000);
    expect(await applied).toBe("sent");
    expect(store.problem()).toBeUndefined();
    await store.call("add", "after");
    expect(await b.store.call("texts", null)).toEqual(["sent", "after"]);
  });

  it("are refused above the limits of pending requests", async () => {
    const { store } = await cluster.open("a", { maxRequests: 1 });
    const first = store.call("add", "1");
    await expect(store.call("add", "2")).rejects.toMatchObject({ code: "overloaded" });
    expect(await first).toBe(1);
  });

  it("with an input that a log would change are rejected", async () => {
    const { store } = await cluster.open("a");
    await expect(store.call("add", Number.NaN as never)).rejects.toThrow("cannot contain the number NaN");
    expect(await store.call("add", "1")).toBe(1);
  });
});

describe("reads of a replicated store", () => {
  it("see what another node had acknowledged before they began, also on a node that is behind", async () => {
    const [a, b] = [await cluster.open("a"), await cluster.open("b")];
    b.connection.setUp(false);
    await a.store.call("add", "1");
    const [first, second] = [b.store.call("texts", null), b.store.call("texts", null)];
    b.connection.setUp(true);
    expect(await Promise.all([first, second])).toEqual([["1"], ["1"]]);
    const { last } = cluster.log.state();
    await Promise.all([b.store.call("texts", null), b.store.call("texts", null)]);
    expect(cluster.log.state().last).toBe(last + 1);
  });

  it("of a session append nothing, and see the writes of their node", async () => {
    const [a, b] = [await cluster.open("a"), await cluster.open("b", { reads: "session" })];
    expect(await b.store.call("add", "1")).toBe(1);
    const { last } = cluster.log.state();
    expect(await b.store.call("texts", null)).toEqual(["1"]);
    expect(cluster.log.state().last).toBe(last);
    b.connection.setUp(false);
    await a.store.call("add", "2");
    expect(await b.store.call("texts", null)).toEqual(["1"]);
    const write = b.store.call("add", "3");
    const read = b.store.call("texts", null);
    b.connection.setUp(true);
    await write;
    expect(await read).toEqual(["1", "2", "3"]);
  });
});

describe("a replicated store whose log changed", () => {
  it.each([
    ["went back", () => cluster.log.goBack(1)],
    ["was created anew", () => cluster.log.replace()],
  ])("writes nothing more after it %s", async (_, change) => {
    const { store } = await cluster.open("a");
    await store.call("add", "1");
    change();
    await expect(store.call("add", "2")).rejects.toMatchObject({ code: "store_unavailable" });
    expect(store.problem()).toMatch(/the log (ends at|is another|went back)/);
    await expect(store.call("add", "3")).rejects.toMatchObject({ code: "store_unavailable", ...notWritten });
  });
});

it("goes on after an earlier entry was stored once more, before the acknowledgement of a later one", async () => {
  let acknowledge = (): void => {};
  const faults = {
    beforeAck: (id: string) =>
      id.endsWith("/3") ? new Promise<void>((resolve) => (acknowledge = resolve)) : Promise.resolve(),
  };
  const a = await cluster.open("a", { faults });
  await a.store.call("add", "1");
  await a.store.call("add", "2");
  const second = cluster.log.at(2);
  cluster.log.forgetIds();
  cluster.log.store(second?.id ?? "", second?.bytes ?? Buffer.of());
  // Delivered in the next tick.
  await new Promise((resolve) => setImmediate(resolve));
  acknowledge();
  await new Promise((resolve) => setImmediate(resolve));
  await a.store.call("add", "3");
  expect(await a.store.call("texts", null)).toEqual(["1", "2", "3"]);
  expect(a.store.problem()).toBeUndefined();
});
