import { expect, it } from "vitest";
import { sampleSpan } from "../testing/sample-spans.ts";
import { TraceShare } from "./trace-share.ts";

/** Sends spans of traces with evenly distributed ids; returns how many of them are written. */
function written(share: TraceShare, count: number, more: object = {}): number {
  let taken = 0;
  for (let at = 0; at < count; at += 1) {
    const id = ((at * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, "0");
    if (share.takes(sampleSpan({ id: 1, traceId: `${"0".repeat(24)}${id}`, ...more } as never))) taken += 1;
  }
  return taken;
}

it("writes everything at 10 traces of 10 spans per second", () => {
  let nowMs = 0;
  const share = new TraceShare(() => nowMs);
  for (let second = 0; second < 1_800; second += 1) {
    expect(written(share, 100)).toBe(100);
    nowMs += 1_000;
  }
});

it("writes at most 100 spans per second under load, evenly over time and failed ones first, and everything afterwards", () => {
  let nowMs = 0;
  const share = new TraceShare(() => nowMs);
  written(share, 100_000);
  expect(share.isWhole).toBe(false);
  const perSecond = Array.from({ length: 20 }, () => {
    nowMs += 1_000;
    return written(share, 5_000);
  });
  expect(Math.max(...perSecond.slice(1))).toBeLessThan(200);
  expect(perSecond.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(20 * 100 + 100);
  nowMs += 1_000;
  expect(written(share, 80, { status: "error" })).toBe(80);
  nowMs += 60_000;
  expect(written(share, 3_000)).toBe(3_000);
});

it("writes all spans of a trace or none while the share does not change", () => {
  let nowMs = 0;
  const share = new TraceShare(() => nowMs);
  written(share, 100_000);
  nowMs += 5_000;
  const takes = (last: string): boolean[] =>
    [1, 2, 3].map((id) => share.takes({ ...sampleSpan({ id }), traceId: `${"0".repeat(24)}${last}` }));
  expect(takes("00000001")).toEqual([true, true, true]);
  expect(takes("ffffffff")).toEqual([false, false, false]);
});
