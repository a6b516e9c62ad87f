import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { accessOfRole, type InMemoryEngine, type ManualClock, manualClock } from "../../testing/index.ts";
import { bind, cronEngine, gate, history, pass, settled, ticking, turns } from "./testing/cron-engine.ts";

let clock: ManualClock;
let engine: InMemoryEngine;

beforeEach(async () => {
  clock = manualClock(Date.UTC(2026, 0, 1));
  engine = await cronEngine({ clock });
});
afterEach(async () => {
  // Handlers that never return get their grace period.
  const stopped = engine.stop();
  await turns(50);
  clock.advance(5_000);
  await stopped;
});

const lines = async (id: string) =>
  (await history(engine, id)).map((line) => `${line.scheduled_time.slice(11, 19)} ${line.outcome}`).reverse();

describe("a tick that comes during a run", () => {
  it("is passed over by default, and one line of history stands for a row of them (T-4) (gap 18)", async () => {
    const first = gate();
    const { worker, ticks } = await ticking(engine, "on::tick", () => first.passed);
    await bind(engine, worker, { expression: "*/5 * * * * *" }, { id: "t" });
    await pass(engine, clock, "t", 20_000, 5_000);
    expect(ticks).toHaveLength(1);
    expect(await history(engine, "t")).toMatchObject([
      {
        scheduled_time: "2026-01-01T00:00:20.000Z",
        started_at: null,
        outcome: "skipped",
        error: "the previous run had not ended",
        passed_over: 3,
      },
      { scheduled_time: "2026-01-01T00:00:05.000Z", outcome: null, finished_at: null },
    ]);
    first.open();
    await settled(engine, "t");
    await pass(engine, clock, "t", 5_000, 5_000);
    expect(await lines("t")).toEqual(["00:00:05 ok", "00:00:20 skipped", "00:00:25 ok"]);
  });

  it("starts beside it where that is allowed (T-4) (gap 18)", async () => {
    const { worker, times } = await ticking(engine, "on::tick", () => new Promise(() => {}));
    await bind(engine, worker, { expression: "*/5 * * * * *", overlap: "allow" }, { id: "t" });
    await pass(engine, clock, "t", 15_000, 5_000);
    expect(times()).toEqual(["2026-01-01T00:00:05.000Z", "2026-01-01T00:00:10.000Z", "2026-01-01T00:00:15.000Z"]);
  });

  it("starts when the run ends where one is to wait, and stands for the others (T-4) (gap 18)", async () => {
    const first = gate();
    const { worker, ticks } = await ticking(engine, "on::tick", () => first.passed);
    await bind(engine, worker, { expression: "*/5 * * * * *", overlap: "queue_one" }, { id: "t" });
    await pass(engine, clock, "t", 18_000, 5_000);
    expect(ticks).toHaveLength(1);
    first.open();
    await settled(engine, "t");
    expect(await lines("t")).toEqual(["00:00:05 ok", "00:00:10 skipped", "00:00:15 ok"]);
    await pass(engine, clock, "t", 2_000, 2_000);
    expect(await lines("t")).toEqual(["00:00:05 ok", "00:00:10 skipped", "00:00:15 ok", "00:00:20 ok"]);
  });
});

describe("a run", () => {
  it("that fails leaves its error in the history, and the schedule goes on (T-7) (gap 18)", async () => {
    const { worker } = await ticking(engine, "on::tick", () => {
      throw new Error("no such customer");
    });
    await bind(engine, worker, { expression: "*/5 * * * * *" }, { id: "t" });
    await pass(engine, clock, "t", 10_000, 5_000);
    expect(await history(engine, "t")).toMatchObject([
      { scheduled_time: "2026-01-01T00:00:10.000Z", outcome: "error", error: "invocation_failed: no such customer" },
      { scheduled_time: "2026-01-01T00:00:05.000Z", outcome: "error" },
    ]);
  });

  it("has 30 s, and ends as an error when they have passed", async () => {
    const { worker } = await ticking(engine, "on::tick", () => new Promise(() => {}));
    await bind(engine, worker, { expression: "@hourly" }, { id: "t" });
    clock.advance(3_600_000);
    await settled(engine, "t");
    await pass(engine, clock, "t", 31_000, 31_000);
    expect(await history(engine, "t")).toMatchObject([
      { outcome: "error", error: expect.stringMatching(/^call_timeout: /) },
    ]);
  });

  it("does not take place when the condition answers false, nor when it fails", async () => {
    const answers: unknown[] = [false, true];
    const { worker, times } = await ticking(engine);
    worker.serve("may::run", () => {
      if (answers.length === 0) throw new Error("who knows");
      return answers.shift();
    });
    await bind(engine, worker, { expression: "*/5 * * * * *", condition_function_id: "may::run" }, { id: "t" });
    await pass(engine, clock, "t", 15_000, 5_000);
    expect(times()).toEqual(["2026-01-01T00:00:10.000Z"]);
    expect((await history(engine, "t")).reverse()).toMatchObject([
      { outcome: "skipped", error: "may::run returned false" },
      { outcome: "ok" },
      { outcome: "error", error: "the condition may::run failed: invocation_failed: who knows" },
    ]);
  });

  it("leaves a line of history, of which the latest hundred are kept (gap 18)", async () => {
    const { worker, count } = await ticking(engine);
    await bind(engine, worker, { expression: "* * * * * *" }, { id: "t" });
    await pass(engine, clock, "t", 105_000);
    await count(105);
    const kept = await history(engine, "t");
    expect(kept).toHaveLength(100);
    expect(kept[0]).toMatchObject({ scheduled_time: "2026-01-01T00:01:45.000Z" });
  });
});

describe("a trigger whose function is away", () => {
  const away = async (config: object) => {
    const gone = await ticking(engine);
    await bind(engine, gone.worker, { expression: "*/20 * * * * *", ...config }, { id: "t" });
    const other = await engine.connectWorker({ name: "keeper" });
    await bind(engine, other, { expression: "*/20 * * * * *", ...config }, { id: "kept" });
    gone.worker.close();
    await turns();
  };

  it("keeps its schedule, records the ticks as errors, and starts the next one when the function is back (T-7)", async () => {
    await away({});
    await pass(engine, clock, "kept", 150_000, 10_000);
    const absent = { outcome: "error", started_at: null, error: "its function or its worker was not available" };
    expect(await history(engine, "kept")).toMatchObject([{ ...absent, passed_over: expect.any(Number) }]);
    const { ticks, times } = await ticking(engine);
    await turns();
    await settled(engine, "kept");
    // The tick that was due less than a minute ago.
    expect(times()).toEqual(["2026-01-01T00:02:20.000Z"]);
    expect(ticks[0]).toMatchObject({ actual_time: "2026-01-01T00:02:30.000Z" });
  });

  it("starts one for all when it is back, however late, where misfire says so (T-3) (gap 18)", async () => {
    await away({ misfire: "once" });
    await pass(engine, clock, "kept", 610_000, 10_000);
    const { times } = await ticking(engine);
    await settled(engine, "kept");
    expect(times()).toEqual(["2026-01-01T00:10:00.000Z"]);
  });

  it("starts all when it is back where misfire says so, in order (T-3) (gap 18)", async () => {
    await away({ misfire: "all" });
    await pass(engine, clock, "kept", 130_000, 10_000);
    const { times, count } = await ticking(engine);
    await count(6);
    expect(times().map((time) => time.slice(14, 19))).toEqual(["00:20", "00:40", "01:00", "01:20", "01:40", "02:00"]);
  });
});

describe("ticks that the trigger of a trusted worker misses", () => {
  const config = { expression: "0 * * * * *", misfire: "all" };
  const guestBinds = async () => {
    const guest = await engine.connectWorker({ access: accessOfRole("guest", ["on::tick"]) });
    await bind(engine, guest, config, { id: "g" });
    return guest;
  };
  /** Returns the starts of a trusted worker that registers the trigger after five minutes without one. */
  const startsFiveMinutesLater = async (): Promise<number> => {
    await turns(50);
    clock.advance(5 * 60_000);
    await turns(50);
    const { worker, times } = await ticking(engine);
    await turns();
    await bind(engine, worker, config, { id: "o2" });
    for (let n = 0; n < 10; n++) await settled(engine, "o2");
    return times().length;
  };
  const lapse = async () => {
    await turns();
    clock.advance(61_000);
    await turns(50);
  };

  it.each([
    ["no restricted connection", false],
    ["a restricted connection", true],
  ])("are caught up after %s asked for an equal trigger and left", async (_, isAttacked) => {
    const { worker } = await ticking(engine);
    await bind(engine, worker, config, { id: "o" });
    worker.close();
    await lapse();
    if (isAttacked) (await guestBinds()).close();
    expect(await startsFiveMinutesLater()).toBeGreaterThanOrEqual(5);
  });

  it("are caught up when the restricted connection asked first and left last", async () => {
    const guest = await guestBinds();
    const { worker } = await ticking(engine);
    await bind(engine, worker, config, { id: "o" });
    worker.close();
    await lapse();
    guest.close();
    expect(await startsFiveMinutesLater()).toBeGreaterThanOrEqual(5);
  });

  it("are dropped once it unregistered the trigger, although a restricted connection registers an equal one and leaves", async () => {
    const guest = await guestBinds();
    const { worker } = await ticking(engine);
    await bind(engine, worker, config, { id: "o" });
    worker.say({ type: "unregistertrigger", id: "o" });
    await turns();
    guest.close();
    worker.close();
    expect(await startsFiveMinutesLater()).toBe(0);
  });
});

describe("two triggers", () => {
  it("that mean the same, however written, start one run for each tick (T-1) (gap 19)", async () => {
    const first = await ticking(engine);
    const second = await engine.connectWorker({ name: "replica" });
    await bind(engine, first.worker, { expression: "*/10 * * * * *" }, { id: "a" });
    await bind(engine, second, { expression: "*/10 * * * * *" }, { id: "b" });
    await bind(
      engine,
      second,
      { expression: " */10  * * * * * ", timezone: "utc", overlap: "skip", misfire: null },
      { id: "c" },
    );
    await pass(engine, clock, "a", 30_000, 10_000);
    expect(first.times()).toEqual(["2026-01-01T00:00:10.000Z", "2026-01-01T00:00:20.000Z", "2026-01-01T00:00:30.000Z"]);
    first.worker.close();
    await turns();
    const third = await ticking(engine);
    await pass(engine, clock, "c", 10_000, 10_000);
    expect(third.times()).toEqual(["2026-01-01T00:00:40.000Z"]);
  });

  it("of different functions do not stand in each other's way", async () => {
    const one = await ticking(engine, "one");
    const two = await ticking(engine, "two", () => new Promise(() => {}));
    await bind(engine, one.worker, { expression: "*/10 * * * * *" }, { id: "a", functionId: "one" });
    await bind(engine, two.worker, { expression: "*/10 * * * * *" }, { id: "b", functionId: "two" });
    await pass(engine, clock, "a", 20_000, 10_000);
    expect([one.ticks.length, two.ticks.length]).toEqual([2, 1]);
  });
});

describe("a config", () => {
  it("is refused when it fits nothing (T-7)", async () => {
    const { worker } = await ticking(engine);
    for (const [config, message] of [
      [{}, "Cron expression is required"],
      [{ expression: "0 25 * * *" }, "Invalid cron expression '0 25 * * *': field 2 (hour), character 3"],
      [{ expression: "@daily", timezone: "Europe/Berlinn" }, "`timezone`: 'Europe/Berlinn' is not an IANA time zone"],
      [{ expression: "@daily", timezone: "+02:00" }, "'+02:00' is not an IANA time zone"],
      [{ expression: "@daily", time_zone: "Europe/Berlin" }, "time_zone"],
      [{ expression: "@daily", overlap: "never" }, "overlap"],
      [{ expression: "@daily", start_at: "tomorrow" }, "must be a date with time and offset"],
      [
        { expression: "@daily", start_at: "2026-02-01T00:00:00Z", end_at: "2026-01-01T00:00:00Z" },
        "is before `start_at`",
      ],
    ] as const) {
      const answer = await bind(engine, worker, config);
      expect(answer, message).toMatchObject({
        error: { code: "trigger_registration_failed", message: expect.stringContaining(message) },
      });
    }
  });

  it("may bound the ticks, and move them by an amount that stays the same for each trigger", async () => {
    const { worker, ticks } = await ticking(engine);
    const bounds = { start_at: "2026-01-01T00:01:00Z", end_at: "2026-01-01T01:03:00+01:00" };
    await bind(engine, worker, { expression: "0 * * * * *", jitter_ms: 20_000, ...bounds }, { id: "t" });
    await pass(engine, clock, "t", 300_000, 5_000);
    expect(ticks.map((tick) => tick.scheduled_time.slice(14, 19))).toEqual(["01:00", "02:00", "03:00"]);
    const delays = ticks.map((tick) => Date.parse(tick.actual_time) - Date.parse(tick.scheduled_time));
    expect(new Set(delays).size).toBe(1);
    expect(delays[0]).toBeGreaterThan(0);
    expect(delays[0]).toBeLessThanOrEqual(20_000);
  });
});
