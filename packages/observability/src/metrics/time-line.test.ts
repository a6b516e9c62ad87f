import { manualClock } from "@svc-runtime/engine/testing";
import { expect, test } from "vitest";
import { STEP_MS, TimeLine } from "./time-line.ts";

test("time passes as the wall clock does", () => {
  const clock = manualClock();
  const line = new TimeLine(clock);
  clock.advance(7_300);
  expect(line.now()).toBe(clock.now());
  expect(line.shown(line.now())).toBe(clock.now());
});

test("a wall clock that is set back takes what was sampled along, so that ages stay", () => {
  const clock = manualClock();
  const line = new TimeLine(clock);
  const sampled = line.now();
  clock.advance(10_000);
  clock.jumpTo(clock.now() - 3_600_000);
  const now = line.now();
  expect(now - sampled).toBe(10_000);
  expect(line.shown(now)).toBe(clock.now());
  expect(line.shown(sampled)).toBe(clock.now() - 10_000);
  expect(line.stored(line.shown(sampled))).toBe(sampled);
});

test("a wall clock that is set forward, as after a sleep, leaves a stretch without samples", () => {
  const clock = manualClock();
  const line = new TimeLine(clock);
  const sampled = line.now();
  clock.jumpTo(clock.now() + 8 * 3_600_000);
  expect(line.now() - sampled).toBe(8 * 3_600_000);
  expect(line.shown(sampled)).toBe(sampled);
});

test("small differences between the clocks neither stop time nor move it back", () => {
  const clock = manualClock();
  const line = new TimeLine(clock);
  const before = line.now();
  clock.jumpTo(clock.now() - 40);
  expect(line.now()).toBe(before);
  clock.advance(STEP_MS);
  expect(line.now()).toBe(clock.now());
});
