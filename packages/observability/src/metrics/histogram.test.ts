import { describe, expect, it } from "vitest";
import { DURATION_LAYOUT, DurationHistogram } from "./duration-histogram.ts";
import { explicitLayout, maxOf, mergeHistograms, NOTHING_COUNTED, percentileOf, trimmed } from "./histogram.ts";
import { explicitBuckets } from "./snapshot.ts";

function durations(values: readonly number[]) {
  const histogram = new DurationHistogram();
  for (const value of values) histogram.record(value);
  return histogram.counts();
}

describe("histograms", () => {
  it("give percentiles that are exact to the bucket, however the values lie (gap 47)", () => {
    const values = Array.from({ length: 10_000 }, (_, index) => 1.001 ** index / 10);
    const counts = trimmed(durations(values));
    for (const percent of [1, 50, 95, 99, 99.9, 100]) {
      const exact = values[Math.ceil((percent / 100) * values.length) - 1] as number;
      const read = percentileOf(counts, DURATION_LAYOUT, percent) as number;
      expect(Math.abs(read - exact) / exact).toBeLessThan(0.05);
    }
  });

  it("merged are the histogram of all values (gap 47)", () => {
    const fast = Array.from({ length: 990 }, (_, index) => 1 + index / 1_000);
    const slow = Array.from({ length: 10 }, (_, index) => 500 + index);
    const merged = mergeHistograms(trimmed(durations(fast)), trimmed(durations(slow)));
    const all = trimmed(durations([...fast, ...slow]));
    expect(merged.count).toBe(1_000);
    expect([...merged.buckets]).toEqual([...all.buckets]);
    expect(merged.first).toBe(all.first);
    // A mean of percentiles would be near 250.
    expect(percentileOf(merged, DURATION_LAYOUT, 99)).toBeLessThan(2.1);
    expect(percentileOf(merged, DURATION_LAYOUT, 99.5)).toBeGreaterThan(450);
  });

  it("have nothing to say of nothing", () => {
    expect(percentileOf(NOTHING_COUNTED, DURATION_LAYOUT, 50)).toBeNull();
    expect(maxOf(NOTHING_COUNTED, DURATION_LAYOUT)).toBeNull();
    expect(mergeHistograms(NOTHING_COUNTED, NOTHING_COUNTED).count).toBe(0);
    expect(trimmed({ ...NOTHING_COUNTED, buckets: new Uint32Array(8) }).buckets).toHaveLength(0);
  });

  it("with bounds of outside end in the last bucket at the largest value, where that is known", () => {
    const layout = explicitLayout([10, 20]);
    const counts = { count: 4, sum: 100, first: 0, buckets: Uint32Array.from([1, 1, 2]), max: 60 };
    expect(percentileOf(counts, layout, 25)).toBe(10);
    expect(percentileOf(counts, layout, 50)).toBe(20);
    expect(percentileOf(counts, layout, 100)).toBe(60);
    expect(percentileOf({ ...counts, max: undefined }, layout, 100)).toBe(20);
    expect(
      percentileOf({ count: 1, sum: -9, first: 0, buckets: Uint32Array.from([1, 0, 0]) }, explicitLayout([-5, 5]), 50),
    ).toBe(-5);
  });

  it("of durations lose nothing where others read them by few bounds", () => {
    const values = [0.001, 0.1, 0.127, 0.13, 1, 3.9, 4.2, 40, 33_000, 34_000, 1e9];
    const { bounds, bucketCounts } = explicitBuckets(trimmed(durations(values)), DURATION_LAYOUT);
    const below = (bound: number): number => values.filter((value) => value < bound).length;
    let sum = 0;
    for (const [index, bound] of bounds.entries()) {
      sum += bucketCounts[index] as number;
      expect([bound, sum]).toEqual([bound, below(bound)]);
    }
    expect(sum + (bucketCounts.at(-1) as number)).toBe(values.length);
  });
});
