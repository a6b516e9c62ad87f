import { type BucketLayout, type HistogramCounts, NOTHING_COUNTED } from "./histogram.ts";

/** Number of buckets per doubling of the duration. So each bucket is 4.7 % wider than the one before it. */
const BUCKETS_PER_DOUBLING = 15;
/** Number of doublings. The first bucket ends at 1 microsecond; the last one begins at 38 hours. */
const DOUBLINGS = 37;
const BUCKETS = DOUBLINGS * BUCKETS_PER_DOUBLING + 1;
/**
 * Number of buckets by which the array grows. It is small, because the durations of one function are close together.
 */
const GROWTH = 32;

/**
 * A histogram of durations with buckets at most 5 % wide. It allocates only the range of buckets that has counts, up to
 * 2.2 KB.
 */
export class DurationHistogram {
  count = 0;
  /** Sum of the durations in milliseconds; 0 if nothing was counted. */
  sum = 0;
  min = 0;
  max = 0;
  #recentMax = 0;
  #first = 0;
  #buckets: Uint32Array | undefined;

  record(duration: number): void {
    // NaN and negative durations (from a clock error) count as 0, so that they do not distort the sum.
    const ms = Number.isNaN(duration) ? 0 : Math.max(0, duration);
    const bucket = bucketOf(ms);
    let buckets = this.#buckets;
    if (buckets === undefined || bucket < this.#first || bucket >= this.#first + buckets.length)
      buckets = this.#grow(bucket);
    const at = bucket - this.#first;
    buckets[at] = (buckets[at] as number) + 1;
    if (this.count === 0 || ms < this.min) this.min = ms;
    if (ms > this.max) this.max = ms;
    if (ms > this.#recentMax) this.#recentMax = ms;
    this.count++;
    this.sum += ms;
  }

  /** Returns a copy that later durations do not change. */
  counts(): HistogramCounts {
    return {
      count: this.count,
      sum: this.sum,
      first: this.#first,
      buckets: this.#buckets?.slice() ?? NOTHING_COUNTED.buckets,
    };
  }

  /** Returns the exact maximum since the last call, or 0. The call resets it, so only the metrics may use it. */
  takeMax(): number {
    const max = this.#recentMax;
    this.#recentMax = 0;
    return max;
  }

  #grow(bucket: number): Uint32Array {
    const old = this.#buckets;
    const low = Math.floor(bucket / GROWTH) * GROWTH;
    const from = old === undefined ? low : Math.min(low, this.#first);
    const to = Math.min(BUCKETS, old === undefined ? low + GROWTH : Math.max(low + GROWTH, this.#first + old.length));
    const grown = new Uint32Array(to - from);
    if (old !== undefined) grown.set(old, this.#first - from);
    this.#first = from;
    this.#buckets = grown;
    return grown;
  }
}

function bucketOf(ms: number): number {
  const us = ms * 1_000;
  if (!(us > 1)) return 0;
  return Math.min(BUCKETS - 1, 1 + Math.floor(Math.log2(us) * BUCKETS_PER_DOUBLING));
}

/** Returns the start of a bucket, in milliseconds. The bucket ends at the start of the next one. */
export function bucketStartMs(index: number): number {
  return index <= 0 ? 0 : 2 ** ((index - 1) / BUCKETS_PER_DOUBLING) / 1_000;
}

export const DURATION_LAYOUT: BucketLayout = { key: "durations", size: BUCKETS, startOf: bucketStartMs };

/** Returns the counts that were added between `earlier` and `later`. Both must come from the same histogram. */
export function durationsBetween(earlier: HistogramCounts, later: HistogramCounts): HistogramCounts {
  const buckets = later.buckets.slice();
  const offset = earlier.first - later.first;
  for (let at = 0; at < earlier.buckets.length; at++) {
    // A histogram's range of buckets only grows, so `later` covers the range of `earlier`.
    const here = at + offset;
    buckets[here] = (buckets[here] ?? 0) - (earlier.buckets[at] as number);
  }
  return { count: later.count - earlier.count, sum: Math.max(0, later.sum - earlier.sum), first: later.first, buckets };
}
