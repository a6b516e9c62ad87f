import type { MetricPoint, MetricRecord, Resource } from "../telemetry-records.ts";
import { DURATION_LAYOUT } from "./duration-histogram.ts";
import { type BucketLayout, type HistogramCounts, minOf } from "./histogram.ts";
import { HistogramSeries, type Series } from "./series.ts";
import type { SeriesStore } from "./series-store.ts";

/**
 * Bucket bounds of exported durations in milliseconds, from 0.128 ms to 34 s. Each bound is twice the one before it.
 * Each is also a bound of the stored buckets, so that no stored bucket is split.
 */
const DURATION_BOUNDS: readonly number[] = Array.from({ length: 19 }, (_, index) => 2 ** (index + 7) / 1_000);

/**
 * A histogram with the upper bounds of its buckets. There is one more count than bounds, for values above the last
 * bound.
 */
export interface ExplicitBuckets {
  readonly bounds: readonly number[];
  readonly bucketCounts: readonly number[];
}

export function explicitBuckets(counts: HistogramCounts, layout: BucketLayout): ExplicitBuckets {
  const bounds = layout.key === DURATION_LAYOUT.key ? DURATION_BOUNDS : boundsOf(layout);
  const bucketCounts = new Array<number>(bounds.length + 1).fill(0);
  let place = 0;
  for (let at = 0; at < counts.buckets.length; at++) {
    const start = layout.startOf(counts.first + at);
    // A stored bucket is added to the exported bucket whose upper bound is the first one above its start.
    while (place < bounds.length && counts.first + at > 0 && start >= (bounds[place] as number) * (1 - 1e-9)) place++;
    bucketCounts[place] = (bucketCounts[place] as number) + (counts.buckets[at] as number);
  }
  return { bounds, bucketCounts };
}

function boundsOf(layout: BucketLayout): readonly number[] {
  return Array.from({ length: layout.size - 1 }, (_, index) => layout.startOf(index + 1));
}

/** Returns the totals of all series as records for export. `own` is the resource of the engine's own series. */
export function snapshotOf(
  store: SeriesStore,
  own: Resource,
  wants: (series: Series) => boolean = () => true,
): MetricRecord[] {
  const records: MetricRecord[] = [];
  for (const name of store.names()) {
    const info = store.infoOf(name);
    if (info === undefined) continue;
    const byOrigin = new Map<
      string,
      { readonly resource: Resource; readonly scopeName: string | undefined; readonly points: MetricPoint[] }
    >();
    for (const series of store.of(name)) {
      if (!wants(series)) continue;
      const { origin } = series;
      const key = JSON.stringify([origin?.service, origin?.workerId]);
      let group = byOrigin.get(key);
      if (group === undefined) {
        const resource =
          origin === undefined ? own : { service: origin.service, workerId: origin.workerId, attributes: {} };
        group = { resource, scopeName: origin?.scopeName, points: [] };
        byOrigin.set(key, group);
      }
      group.points.push(pointOf(series, store));
    }
    const temporality = info.type === "gauge" ? undefined : "cumulative";
    for (const group of byOrigin.values()) records.push({ ...info, temporality, ...group });
  }
  return records;
}

function pointOf(series: Series, store: SeriesStore): MetricPoint {
  const common = {
    attributes: series.labels,
    timeUnixNano: nanos(store.timeLine.shown(series.at)),
    startUnixNano: nanos(store.timeLine.shown(series.since)),
  };
  if (!(series instanceof HistogramSeries)) return { ...common, value: { type: "number", value: series.latest } };
  const { total, layout } = series;
  return {
    ...common,
    value: {
      type: "histogram",
      count: total.count,
      sum: total.sum,
      min: minOf(total, layout) ?? undefined,
      max: total.max,
      ...explicitBuckets(total, layout),
    },
  };
}

function nanos(ms: number): bigint {
  return BigInt(Math.round(ms)) * 1_000_000n;
}
