import { expect, it } from "vitest";
import { ManualClock } from "../manual-clock.test.support.ts";
import { LivenessCheck } from "./liveness-check.ts";

function setUp() {
  const clock = new ManualClock();
  const calls: string[] = [];
  const check = new LivenessCheck({
    clock,
    ping: () => calls.push(`ping at ${clock.monotonicMs()}`),
    onDead: (ms) => calls.push(`dead after ${ms}`),
  });
  check.start();
  return { clock, calls, check };
}

it("pings a silent engine, and reports a dead connection within 25 s", () => {
  const { clock, calls } = setUp();
  clock.advance(60_000);
  expect(calls).toEqual(["ping at 12000", "dead after 20000"]);
  expect(clock.timers).toBe(0);
});

it("does nothing while something is received, even if it is only the answer to a ping", () => {
  const { clock, calls, check } = setUp();
  for (let second = 0; second < 60; second += 10) {
    clock.advance(10_000);
    check.received();
  }
  expect(calls).toEqual([]);
  clock.advance(15_000);
  check.received();
  clock.advance(10_000);
  expect(calls).toEqual(["ping at 72000"]);
  check.stop();
  expect(clock.timers).toBe(0);
});

it("pings first after a jump in time, as on a suspended page", () => {
  const { calls, check } = setUp();
  // One timer that runs an hour late, as after a suspension.
  let nowMs = 0;
  const timers: (() => void)[] = [];
  const late = new LivenessCheck({
    clock: {
      monotonicMs: () => nowMs,
      after(_ms, action) {
        timers.push(action);
        return () => {};
      },
    },
    ping: () => calls.push("ping"),
    onDead: () => calls.push("dead"),
  });
  check.stop();
  late.start();
  const run = (atMs: number): void => {
    nowMs = atMs;
    timers.shift()?.();
  };
  run(3_600_000);
  expect(calls).toEqual(["ping"]);
  run(3_604_000);
  expect(calls).toEqual(["ping"]);
  run(3_608_000);
  expect(calls).toEqual(["ping", "dead"]);
});
