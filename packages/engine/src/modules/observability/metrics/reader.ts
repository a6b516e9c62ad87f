import { didYouMean } from "../../../kernel/nearest-name.ts";
import type { MetricReader } from "../alerts/metric-reader.ts";
import { hasLabels } from "./labels.ts";
import { levelAt } from "./levels.ts";
import { CALLS, OWN_NAMES } from "./names.ts";
import { NumberSeries, type Series } from "./series.ts";
import type { SeriesStore } from "./series-store.ts";
import { histogramIn, numbersIn, periodsOf, type Window } from "./window.ts";

/** Calls of every outcome but `ok`, which no single label says. */
export const CALL_ERRORS = `${CALLS.name}.errors`;

/**
 * Windows reach back this much more, in milliseconds. Rules are evaluated each 5 s: of what comes together within this time, one evaluation sees all,
 * also when another falls in its midst.
 */
const OVERLAP_MS = 1_500;

export interface MetricReaderParts {
  readonly store: SeriesStore;
  /** Takes what was counted since the last sample into the step that is not over. */
  readonly catchUp?: () => void;
  readonly problem?: () => string | undefined;
}

/** The store of series as alert rules see it. */
export function metricReader({ store, catchUp = () => {}, problem = () => undefined }: MetricReaderParts): MetricReader {
  return {
    problem,
    missing(metric) {
      if (store.infoOf(metric) !== undefined) return undefined;
      const known = new Set([...store.names(), ...OWN_NAMES, CALL_ERRORS]);
      return known.has(metric) ? undefined : `there is no such metric so far${didYouMean(metric, known)}`;
    },
    refresh() {
      if (problem() === undefined) catchUp();
    },
    value(metric, labels, windowSeconds, rate) {
      // Of a counter that nobody reads it is not known that it does not grow.
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

/** A counter that there is and that did not grow is 0; of a gauge that nobody told nothing is known. */
function valueIn(series: Series, window: Window, now: number): number | null {
  if (!(series instanceof NumberSeries)) return histogramIn(series, window, now)?.count ?? 0;
  const counts = numbersIn(series, window, now);
  if (series.isCounter) return counts?.sum ?? 0;
  return counts === undefined ? null : counts.sum / counts.count;
}

/** How long the window is in whole periods. */
function secondsOf(window: Window, now: number): number {
  const { level, first } = periodsOf(window, now);
  return (now - first * levelAt(level).stepMs) / 1_000;
}

function grows(store: SeriesStore, metric: string): boolean {
  const type = store.infoOf(metric === CALL_ERRORS ? CALLS.name : metric)?.type;
  return type === "counter" || type === "histogram";
}
