import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type InMemoryEngine, type ManualClock, manualClock } from "../../testing/index.ts";
import { bind, cronEngine, history, pass, settled, ticking } from "./testing/cron-engine.ts";

let clock: ManualClock;
let engine: InMemoryEngine;

beforeEach(async () => {
  clock = manualClock(Date.UTC(2026, 0, 1));
  engine = await cronEngine({ clock });
});
afterEach(() => engine.stop());

describe("a cron trigger", () => {
  it("calls its function at its times, with what it is told of them (T-2)", async () => {
    const { worker, ticks } = await ticking(engine);
    expect(await bind(engine, worker, { expression: "*/10 * * * * *" }, { id: "t" })).toMatchObject({
      status: "active",
    });
    await pass(engine, clock, "t", 25_000);
    expect(ticks).toEqual([
      {
        trigger: "cron",
        job_id: "t",
        scheduled_time: "2026-01-01T00:00:10.000Z",
        actual_time: "2026-01-01T00:00:10.000Z",
      },
      {
        trigger: "cron",
        job_id: "t",
        scheduled_time: "2026-01-01T00:00:20.000Z",
        actual_time: "2026-01-01T00:00:20.000Z",
      },
    ]);
    expect(await history(engine, "t")).toMatchObject([
      {
        scheduled_time: "2026-01-01T00:00:20.000Z",
        started_at: "2026-01-01T00:00:20.000Z",
        finished_at: "2026-01-01T00:00:20.000Z",
        outcome: "ok",
      },
      { scheduled_time: "2026-01-01T00:00:10.000Z", outcome: "ok" },
    ]);
    await settled(engine, "t");
  });
});
