import { manualClock } from "@svc-runtime/engine/testing";
import { expect, it } from "vitest";
import type { SpanRecord } from "../../telemetry-records.ts";
import { sampleSpan } from "../testing/sample-spans.ts";
import { TraceShare } from "./trace-share.ts";

const SPAN = sampleSpan({ id: 1 });

function start() {
  const clock = manualClock();
  const leftOut: number[] = [];
  const share = new TraceShare(clock, (count) => leftOut.push(count));
  /** Sends spans; returns how many of them are written. */
  const written = (count: number, span: SpanRecord = SPAN): number => {
    let taken = 0;
    for (let at = 0; at < count; at += 1) if (share.takes(span)) taken += 1;
    return taken;
  };
  return { clock, leftOut, share, written };
}

it("writes everything at 10 traces of 5 spans per second", () => {
  const { clock, written } = start();
  for (let second = 0; second < 1_800; second += 1) {
    expect(written(50)).toBe(50);
    clock.advance(1_000);
  }
});

it("writes at most 50 spans per second under load, many at once, and everything afterwards", () => {
  const { clock, leftOut, share, written } = start();
  expect(written(10_000)).toBe(500);
  expect(share.isWhole).toBe(false);
  const perStep = Array.from({ length: 100 }, () => {
    clock.advance(100);
    return written(5_000);
  });
  expect(perStep.reduce((sum, each) => sum + each)).toBe(500);
  expect(perStep.filter((each) => each > 0 && each < 50)).toEqual([]);
  clock.advance(10_000);
  expect(leftOut.reduce((sum, each) => sum + each)).toBe(10_000 - 500 + 100 * 5_000 - 500);
  expect(written(500)).toBe(500);
});

it("writes failed and slow spans, up to a limit, while it leaves out others", () => {
  const { written } = start();
  written(500);
  expect(written(1)).toBe(0);
  const slow = { ...SPAN, durationMs: 1_000 };
  expect(written(100, { ...SPAN, status: "error" }) + written(100, slow)).toBe(200);
  expect(written(1, slow)).toBe(0);
});
