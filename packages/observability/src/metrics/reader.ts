import { didYouMean } from "@svc-runtime/protocol";
import { CALLS, OWN_NAMES } from "./builtin-metrics.ts";
import { hasLabels } from "./labels.ts";
import { levelAt } from "./rollup-levels.ts";
import { NumberSeries, type Series } from "./series.ts";
import type { SeriesStore } from "./series-store.ts";
import { histogramIn, numbersIn, periodsOf, type Window } from "./window.ts";

/** Calls with any outcome except `ok`, which no single label selects. */
export const CALL_ERRORS = `${CALLS.name}.errors`;

/**
 * Extends windows by this time, in milliseconds. Rules are evaluated every 5 s: without the overlap, events close
 * together could be split between two evaluations.
 */
const OVERLAP_MS = 1_500;

/** Reads the values that alert rules compare from the stored series. */
export interface MetricReader {
  /** Includes everything counted up to now. Called before an evaluation. Never throws. */
  refresh(): void;
  /**
   * Returns the value of a metric over the last `windowSeconds`. The window is up to 6.5 s longer, because values are
   * stored per step (5 s within 15 min, longer before). Counter: its increase, or its increase per second if `rate`.
   * Gauge or up-down counter: its mean. Histogram: the number of recorded values, or their number per second if `rate`.
   * Series that have all of `labels` are added up. A counter that began within the window counts from 0. Null if there
   * is no such series, or none has a value in the window. `metric` is one of our names, e.g. `svc.calls`, or a worker's
   * own. Never throws.
   */
  value(metric: string, labels: Readonly<Record<string, string>>, windowSeconds: number, rate: boolean): number | null;
  /**
   * Returns why there is no series of this name, with the nearest existing name; undefined if there is or will be one.
   */
  missing(metric: string): string | undefined;
  /** Returns why nothing is measured at present; undefined while metrics are on. */
  problem(): string | undefined;
}

export interface MetricReaderParts {
  readonly store: SeriesStore;
  /** Adds what was counted since the last sample to the current step. */
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
      // While metrics are off, an unchanged counter says nothing.
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

/** An existing counter that did not grow has 0; a gauge without values has none. */
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
