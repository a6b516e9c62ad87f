import { describe, expect, it } from "vitest";
import { NumberRing } from "./number-ring.ts";
import { levelFor, SAMPLES } from "./rollup-levels.ts";

describe("a ring of samples", () => {
  const at = (period: number): number => period * 5_000;

  it("keeps 15 minutes by 5 s, and lets go of what is older", () => {
    const ring = new NumberRing(SAMPLES);
    for (let period = 1_000; period < 1_400; period++) ring.add(at(period), period);
    expect(ring.at(1_399 - 180)).toEqual({ count: 1, sum: 1_219, min: 1_219, max: 1_219 });
    expect(ring.at(1_399 - 181)).toBeUndefined();
    expect(ring.at(1_400)).toBeUndefined();
    // Later by more than the ring holds: nothing is overwritten.
    ring.add(at(1_100), 7);
    expect(ring.at(1_399)?.sum).toBe(1_399);
  });

  it("takes together what falls into one period", () => {
    const ring = new NumberRing(SAMPLES);
    for (const value of [4, -2, 9]) ring.add(at(7) + 10 + value, value);
    expect(ring.at(7)).toEqual({ count: 3, sum: 11, min: -2, max: 9 });
  });

  it("has nothing where nothing was sampled, also after a stretch longer than itself", () => {
    const ring = new NumberRing(SAMPLES);
    ring.add(at(10), 1);
    ring.add(at(14), 2);
    expect([10, 11, 12, 13, 14].map((period) => ring.at(period)?.sum)).toEqual([1, undefined, undefined, undefined, 2]);
    ring.add(at(5_000), 3);
    expect(ring.at(14)).toBeUndefined();
    expect(ring.at(5_000 - 180)).toBeUndefined();
    expect(ring.at(5_000)?.sum).toBe(3);
  });

  it("keeps what it has while it grows", () => {
    const ring = new NumberRing(SAMPLES);
    for (let period = 3; period < 103; period++) ring.add(at(period), period);
    for (let period = 3; period < 103; period++) expect(ring.at(period)?.sum).toBe(period);
  });
});

describe("the level of a window", () => {
  const now = 1_767_225_600_000;
  it("is the finest that reaches back so far", () => {
    const minutes = (count: number): number => now - count * 60_000;
    expect([1, 15, 16, 60, 61, 360, 363, 10_080, 50_000].map((count) => levelFor(minutes(count), now))).toEqual([
      0, 0, 1, 1, 2, 2, 3, 3, 3,
    ]);
  });
});
