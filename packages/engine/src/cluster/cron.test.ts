import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cron } from "../modules/cron/index.ts";
import { until } from "../modules/queue/testing/queue-engine.ts";
import type { InMemoryEngine } from "../testing/in-memory-engine.ts";
import { ClusterEngines } from "./testing/cluster-engines.ts";

interface HistoryRun {
  readonly outcome: string | null;
  readonly scheduled_time: string;
  readonly started_at: string | null;
}

interface Call {
  readonly node: string;
  readonly instant: string;
}

let engines: ClusterEngines;
let byName: Map<string, InMemoryEngine>;
let calls: Call[];
let running: (() => void)[];

beforeEach(async () => {
  engines = new ClusterEngines();
  byName = new Map();
  calls = [];
  running = [];
  for (const name of ["a", "b", "c"]) await startNode(name);
});
afterEach(() => engines.stop());

async function startNode(name: string, aheadMs = 0): Promise<void> {
  byName.set(name, await engines.start(name, { modules: [cron], config: { "svc-cron": {} }, aheadMs }));
}

const engineOf = (name: string): InMemoryEngine => byName.get(name) as InMemoryEngine;

/** Connects a worker with the same trigger to each of the engines. With `holds`, a run ends when its test says so. */
async function bind(names: readonly string[], config: object, holds = false): Promise<void> {
  for (const name of names) {
    const worker = await engineOf(name).connectWorker({ name });
    worker.serve("tick", async (data) => {
      calls.push({ node: name, instant: (data as { scheduled_time: string }).scheduled_time });
      if (holds) await new Promise<void>((resolve) => running.push(resolve));
      return null;
    });
    worker.say({ type: "registertrigger", id: "t", trigger_type: "cron", function_id: "tick", config });
  }
  await engines.cluster.advance(200);
}

async function historyAt(name: string): Promise<readonly HistoryRun[]> {
  return ((await engineOf(name).call("cron::history", { trigger_id: "t" })) as { runs: readonly HistoryRun[] }).runs;
}

describe("equal cron triggers at several engines", () => {
  it("start each tick once, at one engine, and keep one history", async () => {
    await bind(["a", "b"], { expression: "* * * * * *" });
    await engines.cluster.advance(5_000);
    const instants = calls.map(({ instant }) => instant);
    expect(instants.length).toBeGreaterThanOrEqual(4);
    expect(new Set(instants).size).toBe(instants.length);
    expect(new Set(calls.map(({ node }) => node)).size).toBe(1);
    await until("every run has ended", async () => (await historyAt("a")).every(({ outcome }) => outcome === "ok"));
    const history = await historyAt("b");
    expect(history).toEqual(await historyAt("a"));
    expect(history.map(({ scheduled_time }) => scheduled_time)).toEqual([...instants].reverse());
    for (const engine of byName.values())
      expect(engine.logs.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  });

  it("start the ticks at another engine when the first one is gone, and keep every run in the history", async () => {
    await bind(["a", "b"], { expression: "* * * * * *", overlap: "allow" });
    await engines.cluster.advance(2_000);
    const first = String(calls[0]?.node);
    const other = first === "a" ? "b" : "a";
    engines.kill(engineOf(first));
    await engines.cluster.advance(9_000);
    const instants = calls.map(({ instant }) => instant);
    expect(new Set(instants).size).toBe(instants.length);
    expect(calls.at(-1)?.node).toBe(other);
    // None is left out.
    for (const [index, instant] of [...new Set(instants)].sort().entries())
      if (index > 0) expect(Date.parse(instant) - Date.parse([...instants].sort()[index - 1] as string)).toBe(1_000);
    const history = await historyAt(other);
    expect(history.map(({ scheduled_time }) => scheduled_time).sort()).toEqual([...instants].sort());
  });

  it("do not overlap with a run at another engine, unless they may", async () => {
    await bind(["a", "b"], { expression: "* * * * * *", overlap: "skip" }, true);
    await engines.cluster.advance(1_000);
    expect(calls).toHaveLength(1);
    // The engine that is not the first choice starts a run by hand. Ticks of the first choice are skipped meanwhile.
    const other = calls[0]?.node === "a" ? "b" : "a";
    for (const end of running.splice(0)) end();
    await engines.cluster.exchange();
    const begun = calls.length;
    const byHand = engineOf(other).call("cron::trigger_now", { trigger_id: "t" });
    await until("the run began", () => calls.length > begun);
    await engines.cluster.advance(3_000);
    expect(calls).toHaveLength(begun + 1);
    for (const end of running.splice(0)) end();
    expect(await byHand).toMatchObject({ outcome: "ok" });
    await engines.cluster.advance(1_500);
    expect(calls.length).toBeGreaterThan(begun + 1);
    for (const end of running.splice(0)) end();
    await engines.cluster.exchange();
    const history = await historyAt("a");
    expect(history.some(({ outcome }) => outcome === "skipped")).toBe(true);
    // No entry has replaced another one.
    expect(history.filter(({ started_at }) => started_at !== null)).toHaveLength(calls.length);
  });

  it("keep the runs of all engines in one history", async () => {
    await bind(["a", "b"], { expression: "0 0 1 1 *" });
    for (const name of ["a", "b", "a"]) await engineOf(name).call("cron::trigger_now", { trigger_id: "t" });
    await engines.cluster.exchange();
    expect(await historyAt("b")).toHaveLength(3);
  });

  it("are paused and resumed together", async () => {
    await bind(["a", "b"], { expression: "* * * * * *" });
    await engineOf("b").call("cron::pause", { trigger_id: "t" });
    await engines.cluster.advance(200);
    const before = calls.length;
    await engines.cluster.advance(3_000);
    expect(calls).toHaveLength(before);
    expect(await engineOf("a").call("cron::list", null)).toMatchObject({ triggers: [{ status: "paused" }] });
    await engineOf("a").call("cron::resume", { trigger_id: "t" });
    await engines.cluster.advance(3_000);
    expect(calls.length).toBeGreaterThan(before);
    expect(new Set(calls.map(({ instant }) => instant)).size).toBe(calls.length);
  });

  it.each([120_000, -120_000])("start no tick at an engine whose clock is apart by %i ms", async (aheadMs) => {
    await startNode("apart", aheadMs);
    await engines.cluster.advance(2_000);
    await bind(["apart"], { expression: "* * * * * *" });
    await bind(["a"], { expression: "* * * * * *" });
    await engines.cluster.advance(20_000);
    expect(new Set(calls.map(({ node }) => node))).toEqual(new Set(["a"]));
    const instants = calls.map(({ instant }) => instant);
    expect(instants.length).toBeGreaterThanOrEqual(19);
    expect(new Set(instants).size).toBe(instants.length);
    const skipped = (await historyAt("a")).filter(({ outcome }) => outcome === "skipped");
    expect(skipped).toEqual([]);
    expect(engineOf("apart").logs).toContainEqual(
      expect.objectContaining({ message: expect.stringContaining("no cron ticks start at this engine") }),
    );
  });

  it("start no tick at an engine whose clock is ahead when the engines that showed it are away", async () => {
    await startNode("apart", 600_000);
    await bind(["apart", "a"], { expression: "* * * * * *" });
    await engines.cluster.advance(5_000);
    for (const name of ["b", "c"]) engines.kill(engineOf(name));
    await engines.cluster.advance(15_000);
    const instants = calls.map(({ instant }) => instant);
    expect(new Set(calls.map(({ node }) => node))).toEqual(new Set(["a"]));
    expect(instants.length).toBeGreaterThanOrEqual(15);
  });

  it("go on at an engine with a wrong clock when no engine with a right one is left", async () => {
    for (const name of ["b", "c"]) engines.kill(engineOf(name));
    await startNode("behind", -5_000);
    await startNode("ahead", 5_000);
    await bind(["a", "behind", "ahead"], { expression: "* * * * * *", overlap: "allow", misfire: "all" });
    await engines.cluster.advance(5_000);
    expect(new Set(calls.map(({ node }) => node))).toEqual(new Set(["a"]));
    engines.kill(engineOf("a"));
    await engines.cluster.advance(40_000);
    const instants = calls.map(({ instant }) => Date.parse(instant)).sort((one, other) => one - other);
    expect(instants.length).toBeGreaterThanOrEqual(40);
    for (const [index, instant] of instants.entries())
      if (index > 0) expect(instant - Number(instants[index - 1])).toBe(1_000);
  });

  it("show that an engine with a wrong clock starts none, and are not changed there", async () => {
    await startNode("apart", 120_000);
    await bind(["apart"], { expression: "* * * * * *" });
    for (const name of ["pause", "resume", "trigger_now"])
      await expect(engineOf("apart").call(`cron::${name}`, { trigger_id: "t" })).rejects.toThrow("try again");
    await engines.cluster.advance(5_000);
    for (const name of ["pause", "resume", "trigger_now"])
      await expect(engineOf("apart").call(`cron::${name}`, { trigger_id: "t" })).rejects.toThrow(
        "nothing was changed: the clock of this engine differs from those of the other engines by more than 1 s",
      );
    expect(await engineOf("apart").call("cron::list", null)).toMatchObject({
      triggers: [{ status: "error", reason: expect.stringContaining("no ticks start at this engine") }],
    });
  });

  it("go on as soon as an engine's clock is set while it runs, and are shown without an error again", async () => {
    await startNode("apart", 120_000);
    await bind(["apart"], { expression: "* * * * * *" });
    await engines.cluster.advance(5_000);
    expect(calls).toEqual([]);
    engines.cluster.setClock(engineOf("apart"), 0);
    await engines.cluster.advance(6_000);
    expect(calls.length).toBeGreaterThan(0);
    expect(await engineOf("apart").call("cron::list", null)).toMatchObject({ triggers: [{ status: "active" }] });
    const before = calls.length;
    // From the next message on, all would know; the engine itself must not start a tick before.
    engines.cluster.setClock(engineOf("apart"), 600_000);
    await engines.cluster.advance(5_000);
    expect(calls).toHaveLength(before);
  });
});
