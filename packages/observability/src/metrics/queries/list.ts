import type { z } from "zod";
import type { CallStats } from "../../calls/call-stats.ts";
import type { WorkerCounts } from "../../calls/worker-counts.ts";
import type { MetricRecord } from "../../telemetry-records.ts";
import { CALLS, CALLS_DEFERRED, CALLS_REFUSED } from "../builtin-metrics.ts";
import { DURATION_LAYOUT } from "../duration-histogram.ts";
import { mergeHistograms, NOTHING_COUNTED, percentileOf } from "../histogram.ts";
import { type LevelIndex, levelAt, levelFor } from "../rollup-levels.ts";
import type { SeriesStore } from "../series-store.ts";
import { snapshotOf } from "../snapshot.ts";
import type { metricsListInput, SeenSeries } from "./inputs.ts";
import { collect } from "./rollups.ts";

const DEFAULT_RANGE_MS = 3_600_000;

interface Parts {
  readonly store: SeriesStore;
  readonly stats: CallStats;
  readonly workers: Pick<WorkerCounts, "spawns" | "deaths" | "active">;
  readonly sees: (series: SeenSeries) => boolean;
}

/** Implements `engine::metrics::list` in the form of the specification, plus `names`. */
export function listMetrics(
  input: z.output<ReturnType<typeof metricsListInput>>,
  { store, stats, workers, sees }: Parts,
) {
  const { start_time, end_time, metric_name, aggregate_interval } = input;
  const now = store.timeLine.now();
  const isWanted = (record: MetricRecord): boolean => metric_name == null || record.name === metric_name;
  const own = { service: "", workerId: undefined, attributes: {} };
  const outside = snapshotOf(
    store,
    own,
    (series) => series.origin !== undefined && sees(series) && isWithin(store.timeLine.shown(series.at), input),
  );
  const isAsked = [start_time, end_time, metric_name, aggregate_interval].some((value) => value != null);
  return {
    engine_metrics: {
      invocations: invocationsOf(stats, sees),
      workers: { spawns: workers.spawns, deaths: workers.deaths, active: workers.active },
      performance: performanceOf(stats, sees),
    },
    sdk_metrics: outside.filter(isWanted).map(metricOf),
    names: store.names().flatMap((name) => {
      const series = [...store.of(name)].filter(sees).length;
      return series === 0 ? [] : [{ ...store.infoOf(name), series }];
    }),
    timestamp: store.timeLine.shown(now),
    ...(aggregate_interval == null
      ? {}
      : { aggregated_metrics: aggregated(input, { store, sees, now, seconds: aggregate_interval }) }),
    ...(isAsked ? { query: input } : {}),
  };
}

function isWithin(ms: number, { start_time, end_time }: z.output<ReturnType<typeof metricsListInput>>): boolean {
  return (start_time == null || ms >= start_time) && (end_time == null || ms <= end_time);
}

function invocationsOf(stats: CallStats, sees: Parts["sees"]) {
  const { total, success, error } = stats.totals((functionId) => sees(callsOf(functionId)));
  const by_function: Record<string, number> = Object.create(null) as Record<string, number>;
  stats.forEach((functionId, { calls }) => {
    if (sees(callsOf(functionId))) by_function[functionId] = calls;
  });
  const deferred = sees({ info: CALLS_DEFERRED, labels: {} }) ? stats.deferred : 0;
  const refused = sees({ info: CALLS_REFUSED, labels: {} }) ? Object.fromEntries(stats.refused) : {};
  return { total, success, error, deferred, by_function, refused };
}

function callsOf(functionId: string): SeenSeries {
  return { info: CALLS, labels: { function_id: functionId } };
}

/** Returns figures of all calls since the start that the caller may see. All are zero before the first call. */
function performanceOf(stats: CallStats, sees: Parts["sees"]) {
  let all = NOTHING_COUNTED;
  let min = Number.POSITIVE_INFINITY;
  let max = 0;
  stats.forEach((functionId, { durations }) => {
    if (durations.count === 0 || !sees(callsOf(functionId))) return;
    all = mergeHistograms(all, durations.counts());
    min = Math.min(min, durations.min);
    max = Math.max(max, durations.max);
  });
  const percentile = (percent: number): number =>
    Math.min(Math.max(percentileOf(all, DURATION_LAYOUT, percent) ?? 0, Number.isFinite(min) ? min : 0), max);
  return {
    avg_duration_ms: all.count === 0 ? 0 : all.sum / all.count,
    p50_duration_ms: percentile(50),
    p95_duration_ms: percentile(95),
    p99_duration_ms: percentile(99),
    min_duration_ms: Number.isFinite(min) ? min : 0,
    max_duration_ms: max,
  };
}

function metricOf({ name, description, unit, type, points, resource, scopeName }: MetricRecord) {
  return {
    name,
    description,
    unit,
    metric_type: type,
    data_points: points.map(({ attributes, timeUnixNano, value }) => ({
      ...(value.type === "number"
        ? { value: value.value }
        : {
            count: value.count,
            sum: value.sum,
            bucket_counts: value.bucketCounts,
            explicit_bounds: value.bounds,
            ...(value.min === undefined ? {} : { min: value.min }),
            ...(value.max === undefined ? {} : { max: value.max }),
          }),
      attributes,
      timestamp_unix_nano: Number(timeUnixNano),
    })),
    service_name: resource.service,
    timestamp_unix_nano: points.reduce((latest, { timeUnixNano }) => Math.max(latest, Number(timeUnixNano)), 0),
    ...(scopeName === undefined ? {} : { instrumentation_scope_name: scopeName }),
  };
}

/**
 * Uses the rollup level that is nearest to the requested interval. Series stay separate, because the client could not
 * separate merged ones.
 */
function aggregated(
  { start_time, end_time, metric_name }: z.output<ReturnType<typeof metricsListInput>>,
  { store, sees, now, seconds }: Pick<Parts, "store" | "sees"> & { readonly now: number; readonly seconds: number },
): readonly unknown[] {
  const to = end_time == null ? now : Math.min(now, store.timeLine.stored(end_time));
  const from = start_time == null ? to - DEFAULT_RANGE_MS : store.timeLine.stored(start_time);
  let index = levelFor(from, now);
  while (index < 3 && levelAt((index + 1) as LevelIndex).stepMs <= seconds * 1_000) index = (index + 1) as LevelIndex;
  const { rollups, histogram_rollups } = collect(
    { index, from, to, names: metric_name == null ? store.names() : [metric_name] },
    store,
    sees,
  );
  return [...rollups, ...histogram_rollups];
}
