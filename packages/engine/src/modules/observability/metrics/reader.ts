import type { MetricReader } from "../alerts/metric-reader.ts";
import { hasLabels } from "./labels.ts";
import { CALLS } from "./names.ts";
import { NumberSeries } from "./series.ts";
import type { SeriesStore } from "./series-store.ts";
import { histogramIn, numbersIn } from "./window.ts";

/** Calls of every outcome but `ok`, which no single label says. */
export const CALL_ERRORS = `${CALLS.name}.errors`;

/** The store of series as alert rules see it. */
export function metricReader(store: SeriesStore): MetricReader {
  return {
    value(metric, labels, windowSeconds, rate) {
      const now = store.timeLine.now();
      const window = { from: now - windowSeconds * 1_000, to: now };
      const isErrors = metric === CALL_ERRORS;
      let sum: number | null = null;
      let isMean = false;
      for (const series of store.of(isErrors ? CALLS.name : metric)) {
        if (!hasLabels(series.labels, labels)) continue;
        if (isErrors && series.labels.outcome === "ok") {
          sum ??= 0;
          continue;
        }
        if (series instanceof NumberSeries) {
          const counts = numbersIn(series, window, now);
          if (series.isCounter) sum = (sum ?? 0) + (counts?.sum ?? 0);
          else if (counts !== undefined) sum = (sum ?? 0) + counts.sum / counts.count;
          isMean = !series.isCounter;
        } else sum = (sum ?? 0) + (histogramIn(series, window, now)?.count ?? 0);
      }
      return sum === null || !rate || isMean ? sum : sum / windowSeconds;
    },
  };
}
