/** Counts of a histogram within a time range. */
export interface HistogramCounts {
  readonly count: number;
  readonly sum: number;
  /** Index of the bucket that `buckets[0]` counts. */
  readonly first: number;
  readonly buckets: Uint32Array;
  /** The exact maximum. Undefined if only the bucket of the maximum is known. */
  readonly max?: number | undefined;
}

export const NOTHING_COUNTED: HistogramCounts = { count: 0, sum: 0, first: 0, buckets: new Uint32Array(0) };

/** Bucket boundaries of a histogram. */
export interface BucketLayout {
  /** Key of the layout. Counts of layouts with the same key may be added. */
  readonly key: string;
  readonly size: number;
  /**
   * Returns the start of bucket `index`. The bucket ends at the start of the next one, and the last bucket at Infinity.
   */
  startOf(index: number): number;
}

/** Returns a layout as in OTLP. `bounds` are the upper ends of all buckets except the last one. */
export function explicitLayout(bounds: readonly number[]): BucketLayout {
  return {
    key: bounds.join(" "),
    size: bounds.length + 1,
    startOf: (index) =>
      index <= 0
        ? Math.min(0, bounds[0] ?? 0)
        : index > bounds.length
          ? Number.POSITIVE_INFINITY
          : (bounds[index - 1] as number),
  };
}

export function mergeHistograms(a: HistogramCounts, b: HistogramCounts): HistogramCounts {
  if (a.count === 0) return b;
  if (b.count === 0) return a;
  const first = Math.min(a.first, b.first);
  const buckets = new Uint32Array(Math.max(a.first + a.buckets.length, b.first + b.buckets.length) - first);
  buckets.set(a.buckets, a.first - first);
  for (let at = 0; at < b.buckets.length; at++) {
    const here = b.first - first + at;
    buckets[here] = (buckets[here] as number) + (b.buckets[at] as number);
  }
  const max = a.max === undefined || b.max === undefined ? undefined : Math.max(a.max, b.max);
  return { count: a.count + b.count, sum: a.sum + b.sum, first, buckets, max };
}

/** Removes empty buckets at both ends, because they take memory. */
export function trimmed(counts: HistogramCounts): HistogramCounts {
  const { buckets } = counts;
  let from = 0;
  let to = buckets.length;
  while (from < to && buckets[from] === 0) from++;
  while (to > from && buckets[to - 1] === 0) to--;
  return from === 0 && to === buckets.length
    ? counts
    : { ...counts, first: counts.first + from, buckets: buckets.slice(from, to) };
}

export function bytesOf({ buckets }: HistogramCounts): number {
  return 160 + 4 * buckets.length;
}

/**
 * Returns the value below which `percent` (0 to 100) of the counted values are. The bucket of this value is exact.
 * Within the bucket, values are assumed to be spread evenly. Returns null if nothing was counted.
 */
export function percentileOf(counts: HistogramCounts, layout: BucketLayout, percent: number): number | null {
  const { count, first, buckets } = counts;
  if (count <= 0) return null;
  const rank = Math.max(1, Math.ceil((percent / 100) * count));
  let seen = 0;
  for (let at = 0; at < buckets.length; at++) {
    const here = buckets[at] as number;
    if (seen + here >= rank) {
      const start = layout.startOf(first + at);
      const end = layout.startOf(first + at + 1);
      const to = Number.isFinite(end) ? end : Math.max(start, counts.max ?? start);
      return Math.min(start + (to - start) * ((rank - seen) / here), counts.max ?? Number.POSITIVE_INFINITY);
    }
    seen += here;
  }
  return layout.startOf(first + buckets.length - 1);
}

/**
 * Returns the exact maximum if it is known, otherwise the end of the highest bucket with counts. Returns null if
 * nothing was counted.
 */
export function maxOf(counts: HistogramCounts, layout: BucketLayout): number | null {
  if (counts.count <= 0) return null;
  if (counts.max !== undefined) return counts.max;
  let high = counts.buckets.length - 1;
  while (high > 0 && counts.buckets[high] === 0) high--;
  const end = layout.startOf(counts.first + high + 1);
  return Number.isFinite(end) ? end : layout.startOf(counts.first + high);
}

/** Returns the start of the lowest bucket with counts. Returns null if nothing was counted. */
export function minOf(counts: HistogramCounts, layout: BucketLayout): number | null {
  const low = counts.buckets.findIndex((count) => count > 0);
  return counts.count <= 0 || low === -1 ? null : layout.startOf(counts.first + low);
}
