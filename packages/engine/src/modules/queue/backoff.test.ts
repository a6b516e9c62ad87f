import { describe, expect, it } from "vitest";
import { retryDelayMs } from "./backoff.ts";

const middle = (): number => 0.5;
const settings = { baseMs: 1_000, capMs: 15 * 60_000, jitter: 0.1 };

describe("the back-off", () => {
  it.each([
    ["exponential", [1_000, 2_000, 4_000, 8_000]],
    ["linear", [1_000, 2_000, 3_000, 4_000]],
    ["fixed", [1_000, 1_000, 1_000, 1_000]],
  ] as const)("grows %s (gap 6) (Q-5)", (type, wanted) => {
    expect([1, 2, 3, 4].map((attempt) => retryDelayMs({ ...settings, type }, attempt, middle))).toEqual(wanted);
  });

  it("is a tenth more or less, by chance (gap 6)", () => {
    expect(retryDelayMs({ ...settings, type: "fixed" }, 1, () => 0)).toBe(900);
    expect(retryDelayMs({ ...settings, type: "fixed" }, 1, () => 0.999_999)).toBe(1_100);
  });

  it("never is longer than its cap, after however many attempts (gap 6)", () => {
    expect(retryDelayMs({ ...settings, type: "exponential" }, 1_000, () => 0.999)).toBe(15 * 60_000);
  });
});
