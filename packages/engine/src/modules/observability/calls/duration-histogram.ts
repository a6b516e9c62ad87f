/** Buckets of each doubling of a duration: the next one begins 4.7 % later. */
const BUCKETS_PER_DOUBLING = 15;
/** The first bucket ends, and the last begins, at these many microseconds: one, and 38 hours. */
const DOUBLINGS = 37;
const BUCKETS = DOUBLINGS * BUCKETS_PER_DOUBLING + 1;
/** Buckets are added in steps, since durations of one function lie together. */
const GROWTH = 32;

/** Counts of durations as they were at one moment, or between two. */
export interface DurationCounts {
  readonly count: number;
  /** Milliseconds. */
  readonly sum: number;
  /** Index of the bucket that `buckets[0]` counts; see `bucketStartMs`. */
  readonly first: number;
  readonly buckets: Uint32Array;
}

export const NO_DURATIONS: DurationCounts = { count: 0, sum: 0, first: 0, buckets: new Uint32Array(0) };

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
  counts(): DurationCounts {
    return { count: this.count, sum: this.sum, first: this.#first, buckets: this.#buckets?.slice() ?? NO_DURATIONS.buckets };
  }

  /** The largest since it was last taken, exactly; 0 when nothing was counted since. There can be one who takes it: the metrics. */
  takeMax(): number {
    const max = this.#recentMax;
    this.#recentMax = 0;
    return max;
  }

  /** See `percentileOf`. */
  percentile(percent: number): number {
    if (this.#buckets === undefined) return 0;
    const value = percentileOf({ count: this.count, sum: this.sum, first: this.#first, buckets: this.#buckets }, percent);
    return Math.min(Math.max(value, this.min), this.max);
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

/**
 * The duration in milliseconds that `percent` (0 to 100) of those counted do not exceed: the middle of its bucket, so at most 2.5 % off. 0 when nothing was
 * counted.
 */
export function percentileOf({ count, first, buckets }: DurationCounts, percent: number): number {
  if (count === 0) return 0;
  const rank = Math.max(1, Math.ceil((percent / 100) * count));
  let seen = 0;
  for (let at = 0; at < buckets.length; at++) {
    seen += buckets[at] as number;
    if (seen >= rank) return (bucketStartMs(first + at) + bucketStartMs(first + at + 1)) / 2;
  }
  return bucketStartMs(first + buckets.length);
}

/** Begins of the lowest and end of the highest bucket that counted something, in milliseconds: minimum and maximum, to 5 %. Undefined when nothing was counted. */
export function rangeOf({ first, buckets }: DurationCounts): { readonly minMs: number; readonly maxMs: number } | undefined {
  let low = -1;
  let high = -1;
  for (let at = 0; at < buckets.length; at++) {
    if (buckets[at] === 0) continue;
    if (low === -1) low = at;
    high = at;
  }
  return low === -1 ? undefined : { minMs: bucketStartMs(first + low), maxMs: bucketStartMs(first + high + 1) };
}

/** What was counted after `earlier` and up to `later`, both of one histogram. */
export function durationsBetween(earlier: DurationCounts, later: DurationCounts): DurationCounts {
  const buckets = later.buckets.slice();
  const offset = earlier.first - later.first;
  for (let at = 0; at < earlier.buckets.length; at++) {
    // A histogram only grows, so that the earlier range lies within the later one.
    const here = at + offset;
    buckets[here] = (buckets[here] ?? 0) - (earlier.buckets[at] as number);
  }
  return { count: later.count - earlier.count, sum: Math.max(0, later.sum - earlier.sum), first: later.first, buckets };
}

/** Both together. */
export function durationsTogether(a: DurationCounts, b: DurationCounts): DurationCounts {
  if (a.count === 0) return b;
  if (b.count === 0) return a;
  const first = Math.min(a.first, b.first);
  const buckets = new Uint32Array(Math.max(a.first + a.buckets.length, b.first + b.buckets.length) - first);
  buckets.set(a.buckets, a.first - first);
  for (let at = 0; at < b.buckets.length; at++) {
    const here = b.first - first + at;
    buckets[here] = (buckets[here] as number) + (b.buckets[at] as number);
  }
  return { count: a.count + b.count, sum: a.sum + b.sum, first, buckets };
}
