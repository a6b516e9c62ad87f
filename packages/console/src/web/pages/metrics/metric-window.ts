import { type RangeSearch, windowOf } from "../../lib/time-range.ts";
import { POLL_MS } from "../../lib/use-polled-call.ts";

export const FALLBACK_RANGE = "15m";
/** Longest range: a week, for which the engine has hourly values. */
const LONGEST_MS = 7 * 86_400_000;
/** Number of points. It is enough for the width of the chart. */
const POINTS = 200;
const SHORTEST_STEP_S = 10;

/** Start, end and step of the series, for the range of the page. */
export interface MetricWindow {
  readonly startMs: number;
  /**
   * End of the window; undefined means now. The current step is left out until half of it has passed, because rates
   * over a very short time are not reliable.
   */
  readonly endMs: number | undefined;
  readonly stepSeconds: number;
  /** Time between polls in milliseconds; false if the values cannot change. */
  readonly pollMs: number | false;
}

/** Returns the window for the address's range at the given time. */
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
