import { describe, expect, it } from "vitest";
import { manualClock } from "../testing/manual-clock.ts";
import { ageClock } from "./clock.ts";
import { IntervalClock } from "./interval-clock.ts";

function watched() {
  const clock = manualClock(1_000_000);
  const jumps: number[] = [];
  return { clock, jumps, intervals: new IntervalClock(clock, (byMs) => jumps.push(byMs)) };
}

it("reports by how much the wall clock was set, once, before it returns the new time", () => {
  const { clock, jumps, intervals } = watched();
  clock.jumpTo(8_200_000);
  clock.advance(5_000);
  expect(intervals.now()).toBe(8_205_000);
  intervals.now();
  clock.jumpTo(1_005_000);
  expect(intervals.now()).toBe(1_005_000);
  expect(jumps).toEqual([7_200_000, -7_200_000]);
});

it("reports nothing while time passes, nor when the clock was set and set right again between two calls", () => {
  const { clock, jumps, intervals } = watched();
  clock.advance(86_400_000);
  intervals.now();
  const now = clock.now();
  clock.jumpTo(0);
  clock.jumpTo(now);
  intervals.now();
  expect(jumps).toEqual([]);
});

it("reports drift as soon as it adds up to a second", () => {
  const { clock, jumps, intervals } = watched();
  for (let step = 0; step < 25; step++) {
    clock.jumpTo(clock.now() + 100);
    intervals.now();
  }
  expect(jumps).toEqual([1_000, 1_000]);
});

describe("a clock for ages", () => {
  it("ignores a jump forward that is taken back, and takes over one that lasts for an hour", () => {
    const clock = manualClock();
    const start = clock.now();
    const now = ageClock(clock);
    clock.advance(1_000);
    expect(now()).toBe(start + 1_000);
    clock.jumpTo(start + 365 * 86_400_000);
    expect(now()).toBe(start + 1_000);
    clock.jumpTo(start + 1_000);
    expect(now()).toBe(start + 1_000);
    clock.jumpTo(start + 365 * 86_400_000);
    expect(now()).toBe(start + 1_000);
    clock.advance(3_599_000);
    expect(now()).toBe(start + 3_600_000);
    clock.advance(1_000);
    expect(now()).toBe(clock.now());
    clock.jumpTo(start);
    expect(now()).toBe(start);
  });
});
