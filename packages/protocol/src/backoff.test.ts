import { describe, expect, it } from "vitest";
import { backoffMs } from "./backoff.ts";

const middle = (): number => 0.5;
const options = { firstMs: 1_000, maxMs: 15 * 60_000, jitter: 0.1 };

describe("the backoff", () => {
  it.each([
    ["exponential", [1_000, 2_000, 4_000, 8_000]],
    ["linear", [1_000, 2_000, 3_000, 4_000]],
    ["fixed", [1_000, 1_000, 1_000, 1_000]],
  ] as const)("grows %s (gap 6) (Q-5)", (growth, wanted) => {
    expect([1, 2, 3, 4].map((failures) => backoffMs({ ...options, growth }, failures, middle))).toEqual(wanted);
  });

  it("multiplies by its factor", () => {
    expect([1, 2, 3].map((failures) => backoffMs({ ...options, factor: 3 }, failures, middle))).toEqual([
      1_000, 3_000, 9_000,
    ]);
  });

  it("is longer or shorter by its jitter", () => {
    expect(backoffMs({ ...options, growth: "fixed" }, 1, () => 0)).toBe(900);
    expect(backoffMs({ ...options, growth: "fixed" }, 1, () => 0.999_999)).toBe(1_100);
  });

  it("is at most its maximum, after any number of failures", () => {
    expect(backoffMs(options, 1_000, () => 0.999)).toBe(15 * 60_000);
    expect(backoffMs(options, 10_000, () => 0.999)).toBe(15 * 60_000);
    expect(backoffMs({ ...options, firstMs: 0 }, 10_000)).toBe(0);
  });
});
