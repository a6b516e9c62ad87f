import { describe, expect, it } from "vitest";
import { Latencies, median, medianInterval, percentile, ratio, spread } from "./statistics.ts";

describe("statistics", () => {
  it("returns the middle value of an odd count, in any order", () => {
    expect(median([9, 1, 5])).toBe(5);
  });

  it("returns the mean of the two middle values of an even count", () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  it("does not change the order of the measurements", () => {
    const values = [3, 1, 2];
    median(values);
    expect(values).toEqual([3, 1, 2]);
  });

  it("rejects an empty list", () => {
    expect(() => median([])).toThrow(RangeError);
    expect(() => percentile([], 0.5)).toThrow(RangeError);
  });

  it("returns median, minimum and maximum", () => {
    expect(spread([2, 8, 4])).toEqual({ median: 4, min: 2, max: 8 });
  });

  it("divides medians, and pairs rounds for minimum and maximum", () => {
    expect(ratio([10, 40, 20], [10, 20, 20])).toEqual({ median: 1, min: 1, max: 2 });
  });

  it("rejects different numbers of rounds", () => {
    expect(() => ratio([1], [1, 2])).toThrow("cannot pair 1 rounds with 2");
  });

  it("finds percentiles by nearest rank", () => {
    const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
    expect(percentile(hundred, 0.5)).toBe(50);
    expect(percentile(hundred, 0.99)).toBe(99);
    expect(percentile(hundred, 1)).toBe(100);
    expect(percentile([7], 0.01)).toBe(7);
  });

  it("summarises latencies beyond its first buffer", () => {
    const latencies = new Latencies();
    for (let us = 100_000; us >= 1; us--) latencies.add(us);
    expect(latencies.summary()).toEqual({ p50Us: 50_000, p99Us: 99_000 });
  });

  it("reports zero for a window without a result", () => {
    expect(new Latencies().summary()).toEqual({ p50Us: 0, p99Us: 0 });
  });
});

it("gives the confidence interval of a median by order statistics", () => {
  const values = Array.from({ length: 25 }, (_, at) => (at * 7) % 25);
  // Of 25 values, the 8th and the 18th: 1.96 standard deviations of the binomial distribution around the 13th.
  expect(medianInterval(values)).toEqual({ median: 12, low: 7, high: 17 });
  expect(medianInterval([3, 1, 2])).toEqual({ median: 2, low: 1, high: 3 });
});
