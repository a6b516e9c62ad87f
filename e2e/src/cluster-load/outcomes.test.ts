import { CallError } from "@svc-runtime/sdk";
import { describe, expect, it } from "vitest";
import { Counter, failureOf, inMs, inSeconds, longestPause, Ticks } from "./outcomes.ts";

it("a write failed without effect only if its error says so", () => {
  const failure = (code: string, details?: Record<string, unknown>) => failureOf(new CallError(code, "", { details }));
  expect(failure("store_unavailable", { outcome: "not_written" })).toBe("no");
  expect(failure("store_unavailable", { outcome: "unknown" })).toBe("unknown");
  expect(failure("disconnected", { executed: "no" })).toBe("no");
  expect(failure("disconnected")).toBe("unknown");
  expect(() => failureOf(new TypeError("a slip"))).toThrow("a slip");
});

describe("a counter", () => {
  it("misses an increment that was acknowledged, and has none twice", () => {
    const counter = new Counter();
    expect(counter.acked(1)).toBeUndefined();
    expect(counter.acked(2)).toBeUndefined();
    expect(counter.read(1)).toContain("1 was read after 2");
    expect(counter.read(null)).toContain("null was read after 2");
    expect(counter.acked(2)).toContain("answered 2 after 2");
    expect(counter.acked(4)).toContain("answered 4 after 2");
  });

  it("may have increments whose outcome is unknown, also later, but each once", () => {
    const counter = new Counter();
    counter.failed("unknown");
    counter.failed("unknown");
    counter.failed("no");
    expect([counter.read(null), counter.read(2)]).toEqual([undefined, undefined]);
    expect(counter.read(3)).toContain("3 was read");
    expect(counter.acked(2)).toBeUndefined();
    expect([counter.read(2), counter.read(3)]).toEqual([undefined, undefined]);
    expect(counter.acked(4)).toBeUndefined();
    expect(counter.read(5)).toContain("5 was read");
    expect([counter.acknowledged, counter.unknown]).toEqual([2, 2]);
  });
});

describe("ticks", () => {
  const instant = (second: number): string => `2026-01-01T00:00:0${second}.000Z`;

  it("start once each", () => {
    const ticks = new Ticks();
    for (const second of [1, 2, 4]) ticks.started(instant(second), "a");
    ticks.interrupted(instant(3));
    ticks.interrupted(instant(4));
    expect(ticks.problems()).toEqual([]);
    expect([ticks.count, ticks.cutOff]).toEqual([3, 1]);
  });

  it("are reported when they start twice or not at all", () => {
    const ticks = new Ticks();
    for (const [second, node] of [
      [1, "a"],
      [1, "b"],
      [3, "a"],
    ] as const)
      ticks.started(instant(second), node);
    expect(ticks.problems()).toEqual([
      `the tick of ${instant(1)} started 2 times, at a, b`,
      `the tick of ${instant(2)} was not started`,
    ]);
  });
});

it("a pause lasts to the next time, or to the end", () => {
  expect(longestPause([1, 2, 3], 1.5, 3.5)).toBe(1);
  expect(longestPause([1, 12], 2, 5)).toBe(3);
  expect(longestPause([1, 3], 2, 9)).toBe(6);
  expect(longestPause([], 2, 9)).toBe(7);
  expect(inSeconds([1_000, 3_000, 2_000])).toBe("median 2.0 s, longest 3.0 s");
  expect(inMs([10, 30, 20])).toBe("median 20 ms, longest 30 ms");
  expect(inSeconds([])).toBe("none");
});
