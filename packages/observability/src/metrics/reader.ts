import { didYouMean } from "@svc-runtime/protocol";
import { CALLS, OWN_NAMES } from "./builtin-metrics.ts";
import { hasLabels } from "./labels.ts";
import { levelAt } from "./rollup-levels.ts";
import { NumberSeries, type Series } from "./series.ts";
import type { SeriesStore } from "./series-store.ts";
import { histogramIn, numbersIn, periodsOf, type Window } from "./window.ts";

/** Name for calls with any outcome except `ok`. It is needed because no single label selects them. */
export const CALL_ERRORS = `${CALLS.name}.errors`;

/**
 * Windows are longer by this time, in milliseconds. Rules are evaluated every 5 s. Without the overlap, events that are
 * close together could fall into two windows, and neither evaluation would count both.
 */
const OVERLAP_MS = 1_500;

/** Reads the values that alert rules compare. They come from the stored series. */
export interface MetricReader {
  /** Adds everything that was counted up to now. Called before an evaluation. Never throws. */
  refresh(): void;
  /**
   * Returns the value of a metric over the last `windowSeconds`. Never throws.
   * - The window is up to 6.5 s longer, because values are stored per step (5 s for the last 15 min, longer before).
   * - The value of a counter is its increase, or its increase per second if `rate` is set.
   * - The value of a gauge or up-down counter is its mean.
   * - The value of a histogram is the number of recorded values, or their number per second if `rate` is set.
   * - Series that have all of `labels` are added up. A counter that began within the window counts from 0.
   * - Null if there is no such series, or if no such series has a value in the window.
   * - `metric` is one of our names, for example `svc.calls`, or the name of a worker's own metric.
   */
  value(metric: string, labels: Readonly<Record<string, string>>, windowSeconds: number, rate: boolean): number | null;
  /**
   * Returns an error text with the nearest existing name if there is no series of this name and none is expected;
   * otherwise undefined.
   */
  missing(metric: string): string | undefined;
  /** Returns a text that says why nothing is measured; undefined while metrics are on. */
  problem(): string | undefined;
}

export interface MetricReaderParts {
  readonly store: SeriesStore;
  /** Adds the counts since the last sample to the current step. */
  readonly catchUp?: () => void;
  readonly problem?: () => string | undefined;
}

/** Reads the series store for alert rules. */
export function metricReader({
  store,
  catchUp = () => {},
  problem = () => undefined,
}: MetricReaderParts): MetricReader {
  return {
    problem,
    missing(metric) {
      if (store.infoOf(metric) !== undefined) return undefined;
      const known = new Set([...store.names(), ...OWN_NAMES, CALL_ERRORS]);
      return known.has(metric) ? undefined : `metric not found so far${didYouMean(metric, known)}`;
    },
    refresh() {
      if (problem() === undefined) catchUp();
    },
    value(metric, labels, windowSeconds, rate) {
      // While metrics are off, counters do not grow, so a value of 0 would be wrong.
      if (problem() !== undefined) return null;
      const now = store.timeLine.now();
      const window: Window = { from: now - windowSeconds * 1_000 - OVERLAP_MS, to: now, isWhole: true };
      const isErrors = metric === CALL_ERRORS;
      let sum: number | null = null;
      for (const series of store.of(isErrors ? CALLS.name : metric)) {
        if (!hasLabels(series.labels, labels)) continue;
        const value = isErrors && series.labels.outcome === "ok" ? 0 : valueIn(series, window, now);
        if (value !== null) sum = (sum ?? 0) + value;
      }
      return sum !== null && rate && grows(store, metric) ? sum / secondsOf(window, now) : sum;
    },
  };
}

/**
 * Returns the value of a series in the window. A counter that did not grow has 0. A gauge without values has none
 * (null).
 */
function valueIn(series: Series, window: Window, now: number): number | null {
  if (!(series instanceof NumberSeries)) return histogramIn(series, window, now)?.count ?? 0;
  const counts = numbersIn(series, window, now);
  if (series.isCounter) return counts?.sum ?? 0;
  return counts === undefined ? null : counts.sum / counts.count;
}

/** Returns the length of the window in whole periods, in seconds. */
function secondsOf(window: Window, now: number): number {
  const { level, first } = periodsOf(window, now);
  return (now - first * levelAt(level).stepMs) / 1_000;
}

function grows(store: SeriesStore, metric: string): boolean {
  const type = store.infoOf(metric === CALL_ERRORS ? CALLS.name : metric)?.type;
  return type === "counter" || type === "histogram";
}
