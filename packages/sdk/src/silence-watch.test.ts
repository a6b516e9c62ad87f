import { expect, it } from "vitest";
import { ManualClock } from "./manual-clock.test.support.ts";
import { SilenceWatch } from "./silence-watch.ts";

function setUp() {
  const clock = new ManualClock();
  const told: string[] = [];
  const watch = new SilenceWatch({ clock, ask: () => told.push(`asked at ${clock.monotonicMs()}`), dead: (ms) => told.push(`dead after ${ms}`) });
  watch.start();
  return { clock, told, watch };
}

it("asks a silent engine, and takes the connection for dead within 25 s", () => {
  const { clock, told } = setUp();
  clock.advance(60_000);
  expect(told).toEqual(["asked at 12000", "dead after 20000"]);
  expect(clock.timers).toBe(0);
});

it("does nothing as long as there are signs of life, be it only the answer to its question", () => {
  const { clock, told, watch } = setUp();
  for (let second = 0; second < 60; second += 10) {
    clock.advance(10_000);
    watch.heard();
  }
  expect(told).toEqual([]);
  clock.advance(15_000);
  watch.heard();
  clock.advance(10_000);
  expect(told).toEqual(["asked at 72000"]);
  watch.stop();
  expect(clock.timers).toBe(0);
});

it("asks first when time has jumped, as on a page that slept", () => {
  const { told, watch } = setUp();
  // One timer that runs an hour late, as the platform's do after sleep.
  let nowMs = 0;
  const timers: (() => void)[] = [];
  const late = new SilenceWatch({
    clock: {
      monotonicMs: () => nowMs,
      after(_ms, action) {
        timers.push(action);
        return () => {};
      },
    },
    ask: () => told.push("asked"),
    dead: () => told.push("dead"),
  });
  watch.stop();
  late.start();
  const run = (atMs: number): void => {
    nowMs = atMs;
    timers.shift()?.();
  };
  run(3_600_000);
  expect(told).toEqual(["asked"]);
  run(3_604_000);
  expect(told).toEqual(["asked"]);
  run(3_608_000);
  expect(told).toEqual(["asked", "dead"]);
});
