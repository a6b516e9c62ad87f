import { manualClock } from "@svc-runtime/engine/testing";
import { expect, it } from "vitest";
import type { SpanRecord } from "../../telemetry-records.ts";
import { sampleSpan } from "../testing/sample-spans.ts";
import { TraceShare } from "./trace-share.ts";

function start() {
  const clock = manualClock();
  const leftOut: number[] = [];
  const running = new Map<string, SpanRecord>();
  const written = new Set<string>();
  const idOf = ({ traceId, spanId }: SpanRecord): string => traceId + spanId;
  const share = new TraceShare(clock, {
    isWritingRunning: () => [...running.keys()].some((id) => written.has(id)),
    runningTraces: () => [...running.values()].map(({ traceId }) => traceId),
    onLeftOut: (count) => leftOut.push(count),
  });
  let trace = 0;
  const begin = (span: SpanRecord): boolean => {
    const isWritten = share.takesStarted(span);
    running.set(idOf(span), span);
    if (isWritten) written.add(idOf(span));
    return isWritten;
  };
  const end = (span: SpanRecord): boolean => {
    const isWritten = share.takes(span);
    running.delete(idOf(span));
    return isWritten;
  };
  const takes = (span: SpanRecord): boolean => {
    begin(span);
    return end(span);
  };
  return {
    clock,
    leftOut,
    share,
    begin,
    end,
    takes,
    /** Runs traces at the same time, each with a root span; returns how many spans of each are written. */
    traces(count: number, spans: number, more: Partial<SpanRecord> = {}): number[] {
      const first = trace + 1;
      trace += count;
      const spanOf = (at: number, id: number): SpanRecord => ({ ...sampleSpan({ trace: first + at, id }), ...more });
      const all = Array.from({ length: count }, (_, at) => at);
      for (const at of all) begin(spanOf(at, 1));
      const counts = all.map(() => 0);
      for (let id = 2; id <= spans; id += 1)
        for (const at of all) if (takes(spanOf(at, id))) counts[at] = (counts[at] ?? 0) + 1;
      return all.map((at) => (counts[at] ?? 0) + Number(end(spanOf(at, 1))));
    },
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

it("writes everything at 10 traces of 5 spans per second", () => {
  const { clock, traces } = start();
  for (let second = 0; second < 1_800; second += 1) {
    expect(sum(traces(10, 5))).toBe(50);
    clock.advance(1_000);
  }
});

it("writes whole traces under load, 12 per second, many at once, and everything afterwards", () => {
  const { clock, leftOut, traces } = start();
  const first = traces(1_000, 2);
  expect(first.slice(0, 100)).toEqual(Array.from({ length: 100 }, () => 2));
  expect(sum(first)).toBe(200);
  const perStep = Array.from({ length: 100 }, () => {
    clock.advance(100);
    return traces(500, 2);
  });
  expect(new Set(perStep.flat())).toEqual(new Set([0, 2]));
  expect(sum(perStep.flat())).toBe(10 * 12 * 2);
  clock.advance(10_000);
  expect(sum(leftOut)).toBe(2_000 - 200 + 100 * 1_000 - 240);
  expect(sum(traces(100, 2))).toBe(200);
});

it("writes at most 50 spans per second of large traces, and many at once", () => {
  const { clock, traces } = start();
  expect(traces(1, 10_000)).toEqual([500]);
  expect(traces(1, 10)).toEqual([0]);
  const seconds = Array.from({ length: 10 }, () => {
    clock.advance(1_000);
    return sum(traces(1, 1_000));
  });
  expect(sum(seconds)).toBe(500);
});

it("counts traces as many while it leaves some out, and for 5 s afterwards", () => {
  const { clock, share, traces } = start();
  traces(100, 1);
  expect(share.isLimiting).toBe(false);
  traces(1, 1);
  expect(share.isLimiting).toBe(true);
  clock.advance(5_900);
  expect(share.isLimiting).toBe(true);
  clock.advance(200);
  expect(share.isLimiting).toBe(false);
});

it("writes later spans of a written trace, also while it leaves out other traces", () => {
  const { begin, takes, traces } = start();
  expect(begin(sampleSpan({ trace: 1_000, id: 1 }))).toBe(true);
  expect(sum(traces(150, 1))).toBe(99);
  expect(takes(sampleSpan({ trace: 1_000, id: 2 }))).toBe(true);
  expect(takes(sampleSpan({ trace: 150, id: 2 }))).toBe(false);
});

it("writes no later span of a trace that began while it left out traces", () => {
  const { begin, clock, end, takes, traces } = start();
  traces(101, 1);
  const began = Array.from({ length: 50 }, (_, at) => sampleSpan({ trace: 1_000 + at, id: 1 }));
  expect(began.filter((span) => begin(span))).toEqual([]);
  clock.advance(1_000);
  expect(began.filter((_, at) => takes(sampleSpan({ trace: 1_000 + at, id: 2, parent: 1 })))).toEqual([]);
  expect(began.filter((span) => end(span))).toEqual([]);
  // They have taken no place of a trace that begins now.
  expect(sum(traces(50, 2))).toBe(24);
});

it("takes no new trace while its limit of spans is reached", () => {
  const { clock, traces } = start();
  expect(traces(1, 501)).toEqual([500]);
  expect(sum(traces(50, 1))).toBe(0);
  clock.advance(1_000);
  expect(sum(traces(50, 1))).toBe(50);
});

it("writes failed and slow spans, up to a limit, while it leaves out others", () => {
  const { traces } = start();
  traces(100, 1);
  expect(traces(1, 1)).toEqual([0]);
  const slow = { durationMs: 1_000 };
  expect(sum(traces(100, 1, { status: "error" })) + sum(traces(100, 1, slow))).toBe(200);
  expect(traces(1, 1, slow)).toEqual([0]);
});
