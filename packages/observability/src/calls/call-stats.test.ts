import { describe, expect, test } from "vitest";
import { bucketStartMs, DURATION_LAYOUT, DurationHistogram, durationsBetween } from "../metrics/duration-histogram.ts";
import { maxOf, percentileOf } from "../metrics/histogram.ts";
import { CallStats, MAX_FUNCTIONS, OTHER_FUNCTIONS } from "./call-stats.ts";

function histogramOf(...durations: number[]): DurationHistogram {
  const histogram = new DurationHistogram();
  for (const ms of durations) histogram.record(ms);
  return histogram;
}

describe("a histogram of durations", () => {
  test("has buckets that are at most 5 % wide, from a microsecond to a day", () => {
    for (let index = 2; bucketStartMs(index) < 86_400_000; index++)
      expect(bucketStartMs(index + 1) / bucketStartMs(index)).toBeLessThan(1.05);
    for (const ms of [0.0011, 0.5, 1, 17, 30_000, 86_400_000]) {
      expect(Math.abs((percentileOf(histogramOf(ms).counts(), DURATION_LAYOUT, 50) ?? 0) / ms - 1)).toBeLessThan(0.05);
    }
  });

  test("counts every one, so that percentiles are exact to the bucket (gap 47)", () => {
    const histogram = histogramOf(...Array.from({ length: 1_000 }, (_, index) => index + 1));
    for (const percent of [50, 95, 99])
      expect(
        Math.abs((percentileOf(histogram.counts(), DURATION_LAYOUT, percent) ?? 0) / (percent * 10) - 1),
      ).toBeLessThan(0.05);
    expect([histogram.min, histogram.max, histogram.count, histogram.sum]).toEqual([1, 1_000, 1_000, 500_500]);
  });

  test("takes what no duration should be", () => {
    const histogram = histogramOf(0, -1, Number.NaN, 1e12);
    expect([histogram.count, histogram.sum, histogram.min, histogram.max]).toEqual([4, 1e12, 0, 1e12]);
    expect(histogram.counts().buckets.reduce((sum, count) => sum + count, 0)).toBe(4);
  });

  test("says what was counted between two moments", () => {
    const histogram = histogramOf(10, 10);
    const earlier = histogram.counts();
    histogram.record(0.01);
    histogram.record(5_000);
    const between = durationsBetween(earlier, histogram.counts());
    expect([between.count, Math.round(between.sum)]).toEqual([2, 5_000]);
    expect(percentileOf(between, DURATION_LAYOUT, 50)).toBeLessThan(0.011);
    expect(maxOf(between, DURATION_LAYOUT)).toBeGreaterThan(5_000);
  });
});

describe("statistics of calls", () => {
  test("are kept by function and added up", () => {
    const stats = new CallStats();
    const add = stats.of("math::add");
    add.begin();
    add.begin();
    add.end("ok", 5, 1_000);
    stats.ofRefused("math::add").refuse(2_000);
    stats.countDeferred();
    expect(add).toMatchObject({
      calls: 3,
      ok: 1,
      errors: 1,
      refused: 1,
      inFlight: 1,
      lastEndedMs: 2_000,
      lastResult: "refused",
    });
    expect(stats.totals()).toEqual({ total: 3, success: 1, error: 1, inFlight: 1 });
    expect(stats.totals((functionId) => functionId !== "math::add").total).toBe(0);
    expect(stats.deferred).toBe(1);
  });

  test("have a bound: further functions are counted together", () => {
    const stats = new CallStats();
    for (let index = 0; index < MAX_FUNCTIONS + 50; index++) stats.of(`f::${index}`).begin();
    expect(stats.size).toBe(MAX_FUNCTIONS + 1);
    expect(stats.of(OTHER_FUNCTIONS).calls).toBe(50);
    expect(stats.totals().total).toBe(MAX_FUNCTIONS + 50);
  });

  test("are not filled by calls of functions that are not there", () => {
    const stats = new CallStats();
    for (let index = 0; index < 1_000; index++) stats.ofRefused(`nobody::${index}`).refuse(1);
    expect(stats.size).toBe(1);
  });
});
