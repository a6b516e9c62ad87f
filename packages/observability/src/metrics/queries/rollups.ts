import type { z } from "zod";
import { maxOf, minOf } from "../histogram.ts";
import { type Level, type LevelIndex, levelAt } from "../rollup-levels.ts";
import { NumberSeries, type Series } from "../series.ts";
import type { SeriesStore } from "../series-store.ts";
import { explicitBuckets } from "../snapshot.ts";
import { nanosOf, percentilesOf, type rollupsInput } from "./inputs.ts";

const MAX_ROLLUPS = 20_000;
const DEFAULT_RANGE_MS = 3_600_000;

/** Implements `engine::rollups::list`: one rollup per series and period, with its labels. */
export function queryRollups(
  input: z.output<ReturnType<typeof rollupsInput>>,
  store: SeriesStore,
  sees: (series: Series) => boolean,
) {
  const { start_time, end_time, level, metric_name } = input;
  const now = store.timeLine.now();
  const index = ((level ?? 0) + 1) as LevelIndex;
  const to = end_time == null ? now : Math.min(now, store.timeLine.stored(end_time));
  const from = start_time == null ? to - DEFAULT_RANGE_MS : store.timeLine.stored(start_time);
  const found = collect({ index, from, to, names: metric_name == null ? store.names() : [metric_name] }, store, sees);
  return { ...found, level: level ?? 0, query: input, timestamp: store.timeLine.shown(now) };
}

interface Range {
  readonly index: LevelIndex;
  readonly from: number;
  readonly to: number;
  readonly names: readonly string[];
}

export function collect({ index, from, to, names }: Range, store: SeriesStore, sees: (series: Series) => boolean) {
  const level = levelAt(index);
  const rollups: unknown[] = [];
  const histogram_rollups: unknown[] = [];
  let isTruncated = false;
  const last = Math.floor(to / level.stepMs);
  const first = Math.max(Math.floor(from / level.stepMs), last - level.periods);
  for (const name of names) {
    for (const series of store.of(name)) {
      if (!sees(series)) continue;
      for (let period = first; period <= last; period++) {
        const rollup = rollupOf(series, { index, period, store, level });
        if (rollup === undefined) continue;
        if (rollups.length + histogram_rollups.length >= MAX_ROLLUPS) {
          isTruncated = true;
          break;
        }
        (series instanceof NumberSeries ? rollups : histogram_rollups).push(rollup);
      }
    }
  }
  return { rollups, histogram_rollups, ...(isTruncated ? { truncated: true } : {}) };
}

function rollupOf(
  series: Series,
  at: { readonly index: LevelIndex; readonly period: number; readonly store: SeriesStore; readonly level: Level },
): unknown {
  const { index, period, store, level } = at;
  const { stepMs } = level;
  // A sample from before a change of the wall clock may now be shown between two full minutes, so its time is rounded.
  const startMs = Math.round(store.timeLine.shown(period * stepMs) / stepMs) * stepMs;
  const { info, labels, origin } = series;
  const common = {
    name: info.name,
    labels,
    ...(origin === undefined ? {} : { service_name: origin.service }),
    bucket_start_ns: nanosOf(startMs),
    bucket_end_ns: nanosOf(startMs + stepMs),
    bucket_start_ms: startMs,
  };
  if (series instanceof NumberSeries) {
    const counts = series.level(index).at(period);
    return counts === undefined ? undefined : { ...common, ...counts, avg: counts.sum / counts.count };
  }
  const counts = series.level(index).at(period);
  if (counts === undefined || counts.count === 0) return undefined;
  const { layout } = series;
  const { bounds, bucketCounts } = explicitBuckets(counts, layout);
  return {
    ...common,
    count: counts.count,
    sum: counts.sum,
    min: minOf(counts, layout),
    max: maxOf(counts, layout),
    avg: counts.sum / counts.count,
    percentiles: percentilesOf(counts, layout),
    explicit_bounds: bounds,
    bucket_counts: bucketCounts,
  };
}
