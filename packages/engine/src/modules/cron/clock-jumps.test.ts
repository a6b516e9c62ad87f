import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type InMemoryEngine, type ManualClock, manualClock } from "../../testing/index.ts";
import { bind, cronEngine, gate, history, pass, settled, ticking } from "./testing/cron-engine.ts";

const HOUR_MS = 3_600_000;
const HALF_HOUR_MS = HOUR_MS / 2;
const YEAR_MS = 365 * 24 * HOUR_MS;
let clock: ManualClock;
let engine: InMemoryEngine;

async function start(from: string, config: object) {
  clock = manualClock(Date.parse(from));
  engine = await cronEngine({ clock });
  const listening = await ticking(engine);
  await bind(engine, listening.worker, config, { id: "t" });
  return listening;
}
/** The first run lasts until it is released. */
async function startHeld(from: string, config: object) {
  clock = manualClock(Date.parse(from));
  engine = await cronEngine({ clock });
  const { passed, open } = gate();
  const listening = await ticking(engine, "on::tick", () => passed);
  await bind(engine, listening.worker, config, { id: "t" });
  return { ...listening, release: open };
}
beforeEach(() => {
  engine = undefined as unknown as InMemoryEngine;
});
afterEach(() => engine?.stop());

const minutes = (times: readonly string[]) => times.map((time) => time.slice(11, 16));
const list = async () =>
  ((await engine.call("cron::list")) as { readonly triggers: readonly Record<string, unknown>[] }).triggers[0];

describe("a clock that is set", () => {
  it("two hours back starts no tick a second time, and goes on after the last one that started (T-5) (gap 19)", async () => {
    const { times } = await start("2026-01-01T10:00:30Z", { expression: "*/30 * * * *" });
    await pass(engine, clock, "t", 3 * HOUR_MS, HALF_HOUR_MS);
    expect(minutes(times())).toEqual(["10:30", "11:00", "11:30", "12:00", "12:30", "13:00"]);
    clock.jumpTo(clock.now() - 2 * HOUR_MS);
    await pass(engine, clock, "t", 2_000);
    expect(await list()).toMatchObject({ status: "active", next_runs: { 0: "2026-01-01T13:30:00.000Z" } });
    await pass(engine, clock, "t", 2 * HOUR_MS, HALF_HOUR_MS);
    expect(minutes(times()).slice(6)).toEqual([]);
    await pass(engine, clock, "t", HOUR_MS, HALF_HOUR_MS);
    expect(minutes(times()).slice(6)).toEqual(["13:30", "14:00"]);
    expect(engine.logs.filter(({ message }) => message.startsWith("clock was set"))).toMatchObject([
      { fields: { byMs: -2 * HOUR_MS } },
    ]);
  });

  it("back to before the trigger was there goes on at the next instant of the new time (T-5)", async () => {
    const { times } = await start("2026-01-01T12:00:30Z", { expression: "*/30 * * * *" });
    await pass(engine, clock, "t", HOUR_MS, HALF_HOUR_MS);
    clock.jumpTo(clock.now() - 48 * HOUR_MS);
    await pass(engine, clock, "t", 2_000);
    expect(await list()).toMatchObject({ status: "active", next_runs: { 0: "2025-12-30T13:30:00.000Z" } });
    await pass(engine, clock, "t", HOUR_MS, HALF_HOUR_MS);
    expect(times().slice(2)).toEqual(["2025-12-30T13:30:00.000Z", "2025-12-30T14:00:00.000Z"]);
    clock.jumpTo(Date.parse("2026-01-01T12:00:10Z"));
    await pass(engine, clock, "t", 2_000);
    await pass(engine, clock, "t", 90 * 60_000, HALF_HOUR_MS);
    // 12:30 and 13:00 started before the clock was set back.
    expect(times().slice(4)).toEqual(["2026-01-01T12:00:00.000Z", "2026-01-01T13:30:00.000Z"]);
  });

  it.each([
    ["skip", ["14:30", "15:00", "15:30"], ["13:30", "14:00"]],
    ["once", ["14:30", "15:00", "15:30"], ["13:30", "14:00"]],
    ["all", ["13:00", "13:30", "14:00", "14:30", "15:00", "15:30"], []],
  ])(
    "two hours on and back starts what has not started, and nothing twice, misfire %s (T-1) (T-5)",
    async (misfire, ahead, behind) => {
      const { times } = await start("2026-01-01T12:00:30Z", { expression: "*/30 * * * *", misfire });
      await pass(engine, clock, "t", HALF_HOUR_MS, HALF_HOUR_MS);
      clock.jumpTo(clock.now() + 2 * HOUR_MS);
      await pass(engine, clock, "t", 2_000);
      for (let round = 0; round < 6; round++) await settled(engine, "t");
      await pass(engine, clock, "t", HOUR_MS, HALF_HOUR_MS);
      expect(minutes(times())).toEqual(["12:30", ...ahead]);
      clock.jumpTo(clock.now() - 2 * HOUR_MS);
      await pass(engine, clock, "t", 2_000);
      await pass(engine, clock, "t", 2 * HOUR_MS + HALF_HOUR_MS, HALF_HOUR_MS);
      expect(minutes(times())).toEqual(["12:30", ...ahead, ...behind, "16:00"]);
    },
  );

  it("a year on for three seconds and back goes on at once, and starts nothing twice a year later (T-1) (T-5)", async () => {
    const { times } = await start("2026-01-01T12:00:05Z", { expression: "*/2 * * * * *", overlap: "allow" });
    const from = clock.now();
    await pass(engine, clock, "t", 5_000);
    clock.jumpTo(clock.now() + YEAR_MS);
    await pass(engine, clock, "t", 3_000);
    const before = times().length;
    expect(times().at(-1)).toMatch(/^2027/);
    clock.jumpTo(from + 8_000);
    await pass(engine, clock, "t", 4_000);
    expect(times().slice(before)).toEqual([
      "2026-01-01T12:00:12.000Z",
      "2026-01-01T12:00:14.000Z",
      "2026-01-01T12:00:16.000Z",
    ]);
    expect(await list()).toMatchObject({ status: "active", next_runs: { 0: "2026-01-01T12:00:18.000Z" } });
    clock.jumpTo(from + YEAR_MS);
    await pass(engine, clock, "t", 15_000);
    expect(new Set(times()).size).toBe(times().length);
  });

  it.each([
    ["half a minute", 30_000, ["12:05:40"]],
    ["more than a minute", 71_000, ["12:04:30", "12:04:40"]],
  ])("back by %s waits for the last tick only if that is at most a minute ahead", async (_, byMs, expected) => {
    const { times } = await start("2026-01-01T12:05:25Z", { expression: "*/10 * * * * *" });
    await pass(engine, clock, "t", 10_000);
    expect(times()).toEqual(["2026-01-01T12:05:30.000Z"]);
    clock.jumpTo(clock.now() - byMs);
    await pass(engine, clock, "t", byMs === 30_000 ? 35_000 : 16_000);
    expect(
      times()
        .slice(1)
        .map((time) => time.slice(11, 19)),
    ).toEqual(expected);
  });

  it("back during a run goes on when the run ends (T-4)", async () => {
    const { times, release } = await startHeld("2026-01-01T12:29:59Z", { expression: "*/30 * * * *" });
    await pass(engine, clock, "t", 2_000);
    clock.jumpTo(clock.now() + 2 * HOUR_MS);
    await pass(engine, clock, "t", 2_000);
    clock.jumpTo(clock.now() - 2 * HOUR_MS);
    await pass(engine, clock, "t", 2_000);
    release();
    await settled(engine, "t");
    await pass(engine, clock, "t", HALF_HOUR_MS, HALF_HOUR_MS);
    expect(minutes(times())).toEqual(["12:30", "13:00"]);
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
    // It is 14:55:32 now, so none of the skipped ticks is on time.
    const caughtUp = misfire === "skip" ? ["12:30"] : misfire === "once" ? ["12:30", "14:30"] : expected.slice(0, -1);
    expect(minutes(times())).toEqual(caughtUp);
    await pass(engine, clock, "t", 5 * 60_000, 60_000);
    expect(minutes(times())).toEqual([...caughtUp, "15:00"]);
    if (misfire === "skip")
      expect((await history(engine, "t"))[1]).toMatchObject({ outcome: "skipped", passed_over: 4 });
  });
});

describe("on the days that clocks change", () => {
  it.each([
    ["forward", "2026-03-29T00:00:00Z", [], ["2026-03-30T00:30:00.000Z"]],
    ["back", "2026-10-25T00:00:00Z", ["2026-10-25T00:30:00.000Z"], ["2026-10-26T01:30:00.000Z"]],
  ])(
    "half past two comes once or not at all when they go %s (T-5) (gap 17)",
    async (_direction, from, onTheDay, after) => {
      const { times } = await start(from, { expression: "30 2 * * *", timezone: "Europe/Berlin" });
      await pass(engine, clock, "t", 3 * HOUR_MS, HALF_HOUR_MS);
      expect(times()).toEqual(onTheDay);
      await pass(engine, clock, "t", 23 * HOUR_MS, HALF_HOUR_MS);
      expect(times()).toEqual([...onTheDay, ...after]);
    },
  );
});
