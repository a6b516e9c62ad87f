import { type RangeSearch, windowOf } from "../../lib/time-range.ts";
import { POLL_MS } from "../../lib/use-polled-call.ts";

export const FALLBACK_RANGE = "15m";
/** A week in hourly values. */
const LONGEST_MS = 7 * 86_400_000;
/** Enough points for the width of the chart. */
const POINTS = 200;
const SHORTEST_STEP_S = 10;

/** Start, end and step of the series of a page's range. */
export interface MetricWindow {
  readonly startMs: number;
  /** Undefined: now. The current step is left out until half of it has passed: its rates are of too short a time. */
  readonly endMs: number | undefined;
  readonly stepSeconds: number;
  /** Time between polls in milliseconds; false if the values cannot change. */
  readonly pollMs: number | false;
}

/** Returns the window of an address at this time. */
export function metricWindow(search: RangeSearch, nowMs: number): MetricWindow {
  const { startMs = nowMs - LONGEST_MS, endMs } = windowOf(search, FALLBACK_RANGE, nowMs);
  const stepSeconds = Math.max(SHORTEST_STEP_S, Math.ceil(((endMs ?? nowMs) - startMs) / 1_000 / POINTS));
  const isPast = endMs !== undefined && endMs <= nowMs;
  const inStepMs = nowMs % (stepSeconds * 1_000);
  const lastMs = inStepMs < stepSeconds * 500 ? nowMs - inStepMs - 1 : undefined;
  return {
    startMs,
    endMs: endMs ?? lastMs,
    stepSeconds,
    pollMs: isPast ? false : Math.max(POLL_MS, stepSeconds * 1_000),
  };
}
