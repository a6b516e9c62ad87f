import { describe, expect, it } from "vitest";
import { type PlanInput, planTicks } from "./plan-ticks.ts";
import { scheduleOf } from "./schedule.ts";

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const everyMinute = scheduleOf("0 * * * * *", "UTC");

function plan(minutes: number, more: Partial<PlanInput> = {}) {
  const situation: PlanInput = {
    schedule: everyMinute,
    misfire: "skip",
    overlap: "skip",
    now: START + minutes * MINUTE,
    decidedUntil: START,
    available: true,
    running: 0,
    backlogUntil: Number.NEGATIVE_INFINITY,
    waitingFrom: undefined,
    ...more,
  };
  const { starts, skipped, decidedUntil, backlogUntil, checkAt } = planTicks(situation);
  const minute = (instant: number | undefined) => (instant === undefined ? undefined : (instant - START) / MINUTE);
  return {
    starts: starts.map(minute),
    skipped: skipped && [skipped.reason, skipped.count, minute(skipped.last)],
    decided: minute(decidedUntil),
    backlog: minute(backlogUntil),
    checkAt: minute(checkAt),
  };
}

describe("the plan for due ticks", () => {
  it("waits for the next one", () => {
    expect(plan(0.5)).toMatchObject({ starts: [], decided: 0, checkAt: 1 });
  });

  it("starts one that is due, and looks again at the next", () => {
    expect(plan(1)).toMatchObject({ starts: [1], skipped: undefined, decided: 1, checkAt: 2 });
  });

  it("passes over what is older than a minute by default (T-3)", () => {
    expect(plan(10.5)).toMatchObject({ starts: [10], skipped: ["missed", 9, 9], decided: 10, checkAt: 11 });
    expect(plan(120, { schedule: scheduleOf("0 30 * * * *", "UTC") })).toMatchObject({
      starts: [],
      skipped: ["missed", 2, 90],
      decided: 90,
      checkAt: 150,
    });
  });

  it("says of ticks that are a few seconds late that a later one stands for them, not that they are too old (T-3)", () => {
    expect(plan(0.05, { schedule: scheduleOf("* * * * * *", "UTC") })).toMatchObject({
      starts: [0.05],
      skipped: ["superseded", 2, 2 / 60],
    });
  });

  it("starts one for all that were missed where that is asked for (T-3)", () => {
    const hourly = scheduleOf("0 30 * * * *", "UTC");
    expect(plan(320, { schedule: hourly, misfire: "once" })).toMatchObject({
      starts: [270],
      skipped: ["superseded", 4, 210],
      decided: 270,
      checkAt: 330,
    });
    // One tick that is on time stands for them.
    expect(plan(330, { schedule: hourly, misfire: "once" })).toMatchObject({
      starts: [330],
      skipped: ["superseded", 5, 270],
    });
  });

  it("starts all that were missed one after the other, the latest hundred (T-3)", () => {
    expect(plan(250, { misfire: "all" })).toMatchObject({
      starts: [151],
      skipped: ["capped", 100, 150],
      decided: 151,
      backlog: 250,
    });
    const then = { misfire: "all", decidedUntil: START + 151 * MINUTE, backlogUntil: START + 250 * MINUTE } as const;
    expect(plan(253, { ...then, running: 1 })).toMatchObject({ starts: [], skipped: undefined, decided: 151 });
    expect(plan(253, then)).toMatchObject({ starts: [152], skipped: undefined, decided: 152, backlog: 250 });
    // Ticks that were due during the backlog overlapped with it.
    const last = { ...then, decidedUntil: START + 250 * MINUTE, waitingFrom: START + 251 * MINUTE };
    expect(plan(253, last)).toMatchObject({ starts: [253], skipped: ["overlap", 2, 252], decided: 253 });
  });

  it("starts all that were missed at once where runs may overlap (T-4)", () => {
    expect(plan(3, { misfire: "all", overlap: "allow", running: 1 })).toMatchObject({
      starts: [1, 2, 3],
      decided: 3,
      checkAt: 4,
    });
  });

  it("passes over what comes due while a run goes on by default (T-4)", () => {
    expect(plan(2, { running: 1 })).toMatchObject({ starts: [], skipped: ["overlap", 2, 2], decided: 2, checkAt: 3 });
  });

  it("starts one, the latest, for what came due during a run where that is asked for, however long it was (T-4)", () => {
    expect(plan(5, { overlap: "queue_one", running: 1 })).toMatchObject({
      starts: [],
      skipped: undefined,
      decided: 0,
      checkAt: undefined,
    });
    const ended = {
      overlap: "queue_one",
      waitingFrom: START + MINUTE,
      schedule: scheduleOf("0 0-1 * * * *", "UTC"),
    } as const;
    expect(plan(30, ended)).toMatchObject({ starts: [1], skipped: undefined, decided: 1, checkAt: 60 });
    expect(plan(62, ended)).toMatchObject({ starts: [61], skipped: ["overlap", 2, 60], decided: 61 });
  });

  it("holds what nobody is there for: a minute by default, as long as it takes where missed ticks are caught up (T-3)", () => {
    expect(plan(1.5, { available: false })).toMatchObject({ starts: [], skipped: undefined, decided: 0, checkAt: 2.5 });
    expect(plan(2.5, { available: false })).toMatchObject({
      starts: [],
      skipped: ["absent", 1, 1],
      decided: 1,
      checkAt: 3.5,
    });
    expect(plan(500, { available: false, misfire: "once" })).toMatchObject({
      starts: [],
      skipped: undefined,
      decided: 0,
      checkAt: undefined,
    });
    expect(plan(1.5, { running: 0 })).toMatchObject({ starts: [1] });
  });

  it("has nothing to do when no tick is left", () => {
    expect(plan(5, { schedule: scheduleOf("0 0 0 1 1 * 2020", "UTC") })).toMatchObject({
      starts: [],
      checkAt: undefined,
    });
  });
});
