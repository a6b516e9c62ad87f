import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type InMemoryEngine, type ManualClock, manualClock } from "../../testing/index.ts";
import { bind, cronEngine, history, pass, settled, ticking } from "./testing/cron-engine.ts";

const HOUR_MS = 3_600_000;
const HALF_HOUR_MS = HOUR_MS / 2;
let clock: ManualClock;
let engine: InMemoryEngine;

async function start(from: string, config: object) {
  clock = manualClock(Date.parse(from));
  engine = await cronEngine({ clock });
  const listening = await ticking(engine);
  await bind(engine, listening.worker, config, { id: "t" });
  return listening;
}
beforeEach(() => {
  engine = undefined as unknown as InMemoryEngine;
});
afterEach(() => engine?.stop());

const minutes = (times: readonly string[]) => times.map((time) => time.slice(11, 16));
const list = async () => ((await engine.call("cron::list")) as { readonly triggers: readonly Record<string, unknown>[] }).triggers[0];

describe("a clock that is set", () => {
  it("two hours back starts no tick a second time (T-5) (gap 19)", async () => {
    const { times } = await start("2026-01-01T12:00:30Z", { expression: "*/30 * * * *" });
    await pass(engine, clock, "t", HOUR_MS, HALF_HOUR_MS);
    expect(minutes(times())).toEqual(["12:30", "13:00"]);
    clock.jumpTo(clock.now() - 2 * HOUR_MS);
    await pass(engine, clock, "t", 2 * HOUR_MS, HALF_HOUR_MS);
    expect(minutes(times())).toEqual(["12:30", "13:00"]);
    await pass(engine, clock, "t", HOUR_MS, HALF_HOUR_MS);
    expect(minutes(times())).toEqual(["12:30", "13:00", "13:30", "14:00"]);
    expect(engine.logs.filter(({ message }) => message.startsWith("the clock was set"))).toMatchObject([{ fields: { byMs: -2 * HOUR_MS } }]);
  });

  it("back is told in the listing, and resuming goes on from now", async () => {
    const { times } = await start("2026-01-01T12:00:30Z", { expression: "*/30 * * * *" });
    await pass(engine, clock, "t", HOUR_MS, HALF_HOUR_MS);
    clock.jumpTo(clock.now() - 48 * HOUR_MS);
    expect(await list()).toMatchObject({ status: "error", reason: expect.stringMatching(/set back: ticks up to 2026-01-01T13:00:00.000Z/) });
    expect(await engine.call("cron::resume", { trigger_id: "t" })).toMatchObject({ status: "active", next_runs: { 0: "2025-12-30T13:30:00.000Z" } });
    await pass(engine, clock, "t", HOUR_MS, HALF_HOUR_MS);
    expect(times().slice(2)).toEqual(["2025-12-30T13:30:00.000Z", "2025-12-30T14:00:00.000Z"]);
  });

  it.each([
    ["skip", ["12:30", "15:00"]],
    ["once", ["12:30", "15:00"]],
    ["all", ["12:30", "13:00", "13:30", "14:00", "14:30", "15:00"]],
  ])("two hours forward is a matter of misfire %s (T-3) (T-5)", async (misfire, expected) => {
    const { times } = await start("2026-01-01T12:00:30Z", { expression: "*/30 * * * *", misfire });
    await pass(engine, clock, "t", HALF_HOUR_MS, HALF_HOUR_MS);
    clock.jumpTo(clock.now() + 2 * HOUR_MS + 25 * 60_000);
    await pass(engine, clock, "t", 2_000);
    for (let round = 0; round < 6; round++) await settled(engine, "t");
    // It is 14:55:32 now, so that nothing of what was left out is on time.
    const caughtUp = misfire === "skip" ? ["12:30"] : misfire === "once" ? ["12:30", "14:30"] : expected.slice(0, -1);
    expect(minutes(times())).toEqual(caughtUp);
    await pass(engine, clock, "t", 5 * 60_000, 60_000);
    expect(minutes(times())).toEqual([...caughtUp, "15:00"]);
    if (misfire === "skip") expect((await history(engine, "t"))[1]).toMatchObject({ outcome: "skipped", passed_over: 4 });
  });
});

describe("on the days that clocks change", () => {
  it.each([
    ["forward", "2026-03-29T00:00:00Z", [], ["2026-03-30T00:30:00.000Z"]],
    ["back", "2026-10-25T00:00:00Z", ["2026-10-25T00:30:00.000Z"], ["2026-10-26T01:30:00.000Z"]],
  ])("half past two comes once or not at all when they go %s (T-5) (gap 17)", async (_direction, from, onTheDay, after) => {
    const { times } = await start(from, { expression: "30 2 * * *", timezone: "Europe/Berlin" });
    await pass(engine, clock, "t", 3 * HOUR_MS, HALF_HOUR_MS);
    expect(times()).toEqual(onTheDay);
    await pass(engine, clock, "t", 23 * HOUR_MS, HALF_HOUR_MS);
    expect(times()).toEqual([...onTheDay, ...after]);
  });
});
