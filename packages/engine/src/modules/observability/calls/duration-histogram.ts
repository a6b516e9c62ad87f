import { type BucketLayout, type HistogramCounts, NOTHING_COUNTED } from "../metrics/histogram.ts";

/** Buckets of each doubling of a duration: the next one begins 4.7 % later. */
const BUCKETS_PER_DOUBLING = 15;
/** The first bucket ends, and the last begins, at these many microseconds: one, and 38 hours. */
const DOUBLINGS = 37;
const BUCKETS = DOUBLINGS * BUCKETS_PER_DOUBLING + 1;
/** Buckets are added in steps, since durations of one function lie together. */
const GROWTH = 32;

/**
 * Every duration counted, in buckets that are at most 5 % wide: what is read from it is exact to that. Takes memory only for the range that it has seen,
 * 2.2 KB at most.
 */
export class DurationHistogram {
  count = 0;
  /** Milliseconds; 0 while nothing was counted. */
  sum = 0;
  min = 0;
  max = 0;
  #recentMax = 0;
  #first = 0;
  #buckets: Uint32Array | undefined;

  record(duration: number): void {
    // Neither what is no number nor a clock's mistake may spoil the sum.
    const ms = Number.isNaN(duration) ? 0 : Math.max(0, duration);
    const bucket = bucketOf(ms);
    let buckets = this.#buckets;
    if (buckets === undefined || bucket < this.#first || bucket >= this.#first + buckets.length) buckets = this.#grow(bucket);
    const at = bucket - this.#first;
    buckets[at] = (buckets[at] as number) + 1;
    if (this.count === 0 || ms < this.min) this.min = ms;
    if (ms > this.max) this.max = ms;
    if (ms > this.#recentMax) this.#recentMax = ms;
    this.count++;
    this.sum += ms;
  }

  /** A copy that later durations do not change. */
  counts(): HistogramCounts {
    return { count: this.count, sum: this.sum, first: this.#first, buckets: this.#buckets?.slice() ?? NOTHING_COUNTED.buckets };
  }

  /** The largest since it was last taken, exactly; 0 when nothing was counted since. There can be one who takes it: the metrics. */
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

/** Where the bucket of this index begins, in milliseconds; it ends where the next one begins. */
export function bucketStartMs(index: number): number {
  return index <= 0 ? 0 : 2 ** ((index - 1) / BUCKETS_PER_DOUBLING) / 1_000;
}

/** Those of `DurationHistogram`. */
export const DURATION_LAYOUT: BucketLayout = { key: "durations", size: BUCKETS, startOf: bucketStartMs };

/** What was counted after `earlier` and up to `later`, both of one histogram. */
export function durationsBetween(earlier: HistogramCounts, later: HistogramCounts): HistogramCounts {
  const buckets = later.buckets.slice();
  const offset = earlier.first - later.first;
  for (let at = 0; at < earlier.buckets.length; at++) {
    // A histogram only grows, so that the earlier range lies within the later one.
    const here = at + offset;
    buckets[here] = (buckets[here] ?? 0) - (earlier.buckets[at] as number);
  }
  return { count: later.count - earlier.count, sum: Math.max(0, later.sum - earlier.sum), first: later.first, buckets };
}
