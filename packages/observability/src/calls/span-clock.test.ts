import type { Clock } from "@svc-runtime/engine/module";
import { expect, it } from "vitest";
import { SpanClock } from "./span-clock.ts";

/** A clock whose wall time began at `originMs` plus a fraction, and is read in whole milliseconds. */
function clockAt(monotonicMs: number, originMs: number, setByMs = 0): Clock {
  return {
    now: () => Math.floor(originMs + setByMs + monotonicMs),
    monotonic: () => monotonicMs,
    originMs,
    after: () => () => undefined,
  };
}

it("times what begins to the microsecond, so that no call begins before the span of the worker that made it", () => {
  const clock = new SpanClock(clockAt(100.5, 1_700_000_000_000.45));
  const anchor = clock.anchorAt(100.5);
  expect(anchor.unixMs(anchor.micros(100.5))).toBeCloseTo(1_700_000_000_100.95, 3);
});

it("follows the wall clock where that was set", () => {
  const clock = new SpanClock(clockAt(100.5, 1_700_000_000_000.45, 5_000));
  const anchor = clock.anchorAt(100.5);
  expect(anchor.unixMs(anchor.micros(100.5))).toBeCloseTo(1_700_000_005_100, 3);
});
