/** Median, minimum and maximum of a set of measurements, in their unit. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Returns the median. Throws on an empty list. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("median of no values");
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[sorted.length >> 1] as number;
  if (sorted.length % 2 === 1) return upper;
  return ((sorted[(sorted.length >> 1) - 1] as number) + upper) / 2;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/**
 * Returns the ratio of the values to `over`: the ratio of the medians, and the minimum and maximum ratio within a
 * round. Rounds are paired because the machine has fast and slow phases.
 */
export function ratio(values: readonly number[], over: readonly number[]): Spread {
  if (values.length !== over.length) throw new RangeError(`cannot pair ${values.length} rounds with ${over.length}`);
  const perRound = values.map((value, round) => value / (over[round] as number));
  return { median: median(values) / median(over), min: Math.min(...perRound), max: Math.max(...perRound) };
}

/** A median, and the interval that contains the true one with a confidence of 95 %. */
export interface Interval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Returns the median of independent values and its confidence interval by order statistics (normal approximation of the
 * binomial distribution; with fewer than six values, from the smallest to the largest). Throws on an empty list.
 */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = Math.max(0, Math.floor((sorted.length - 1.96 * Math.sqrt(sorted.length)) / 2));
  return { median: median(sorted), low: sorted[rank] as number, high: sorted[sorted.length - 1 - rank] as number };
}

/**
 * Returns the smallest sorted value that is not exceeded by at least `fraction` (0 to 1) of all values. Throws on an
 * empty list.
 */
export function percentile(sortedAscending: ArrayLike<number>, fraction: number): number {
  if (sortedAscending.length === 0) throw new RangeError("percentile of no values");
  const rank = Math.ceil(fraction * sortedAscending.length) - 1;
  return sortedAscending[Math.min(Math.max(rank, 0), sortedAscending.length - 1)] as number;
}

const MAX_SAMPLES = 2_000_000;

/** Durations of one measuring window. Keeps the first two million. A window of a few seconds never has more. */
export class Latencies {
  #samples = new Float64Array(65_536);
  #count = 0;

  add(durationUs: number): void {
    if (this.#count === MAX_SAMPLES) return;
    if (this.#count === this.#samples.length) {
      const larger = new Float64Array(Math.min(this.#samples.length * 2, MAX_SAMPLES));
      larger.set(this.#samples);
      this.#samples = larger;
    }
    this.#samples[this.#count++] = durationUs;
  }

  /** Microseconds. Zero without measurements. */
  summary(): { readonly p50Us: number; readonly p99Us: number } {
    if (this.#count === 0) return { p50Us: 0, p99Us: 0 };
    const sorted = this.#samples.subarray(0, this.#count).sort();
    return { p50Us: percentile(sorted, 0.5), p99Us: percentile(sorted, 0.99) };
  }
}
