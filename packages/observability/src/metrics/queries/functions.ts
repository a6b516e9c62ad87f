import type { CallStats } from "../../calls/call-stats.ts";
import { CALL_DURATION, CALLS } from "../builtin-metrics.ts";
import { DURATION_LAYOUT } from "../duration-histogram.ts";
import { type HistogramCounts, maxOf, mergeHistograms, NOTHING_COUNTED, percentileOf } from "../histogram.ts";
import { HistogramSeries, NumberSeries, type Series } from "../series.ts";
import type { SeriesStore } from "../series-store.ts";
import { histogramIn, numbersIn, type Window } from "../window.ts";

interface Calls {
  calls: number;
  errors: number;
  durations: HistogramCounts;
}

export function functionStatistics(
  windowSeconds: number,
  store: SeriesStore,
  { stats, sees }: { readonly stats: CallStats; readonly sees: (series: Series) => boolean },
) {
  const now = store.timeLine.now();
  const window: Window = { from: now - windowSeconds * 1_000, to: now };
  const byFunction = new Map<string, Calls>();
  const total: Calls = { calls: 0, errors: 0, durations: NOTHING_COUNTED };
  const of = (functionId: string): Calls => {
    const known = byFunction.get(functionId) ?? { calls: 0, errors: 0, durations: NOTHING_COUNTED };
    byFunction.set(functionId, known);
    return known;
  };
  for (const series of store.of(CALLS.name)) {
    const { function_id, outcome } = series.labels;
    if (!(series instanceof NumberSeries) || function_id === undefined || !sees(series)) continue;
    const calls = numbersIn(series, window, now)?.sum ?? 0;
    for (const one of [of(function_id), total]) {
      one.calls += calls;
      if (outcome !== "ok") one.errors += calls;
    }
  }
  for (const series of store.of(CALL_DURATION.name)) {
    const { function_id } = series.labels;
    const counts =
      series instanceof HistogramSeries && function_id !== undefined && sees(series)
        ? histogramIn(series, window, now)
        : undefined;
    if (counts === undefined || function_id === undefined) continue;
    for (const one of [of(function_id), total]) one.durations = mergeHistograms(one.durations, counts);
  }
  const last = new Map<string, { readonly at_ms: number; readonly status: string }>();
  stats.forEach((functionId, { lastEndedMs, lastResult }) => {
    if (lastEndedMs > 0) last.set(functionId, { at_ms: lastEndedMs, status: lastResult });
  });
  const functions = [...byFunction].map(([function_id, calls]) => {
    const last_call = last.get(function_id);
    return { function_id, ...statisticsOf(calls, windowSeconds), ...(last_call === undefined ? {} : { last_call }) };
  });
  return {
    functions: functions.sort((a, b) => b.calls - a.calls || (a.function_id < b.function_id ? -1 : 1)),
    totals: statisticsOf(total, windowSeconds),
    window_seconds: windowSeconds,
    as_of: store.timeLine.shown(now),
  };
}

function statisticsOf({ calls, errors, durations }: Calls, windowSeconds: number) {
  const percentile = (percent: number): number | null => percentileOf(durations, DURATION_LAYOUT, percent);
  return {
    calls,
    errors,
    error_rate: calls === 0 ? 0 : errors / calls,
    rate_per_second: calls / windowSeconds,
    p50_ms: percentile(50),
    p95_ms: percentile(95),
    p99_ms: percentile(99),
    max_ms: maxOf(durations, DURATION_LAYOUT),
    avg_ms: durations.count === 0 ? null : durations.sum / durations.count,
  };
}
