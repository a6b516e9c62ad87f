import { beforeEach, describe, expect, test } from "vitest";
import type { SpanRecord } from "../telemetry-records.ts";
import { HOLD_MS, MAX_HELD_BYTES, MAX_HELD_SPANS, TailSampler } from "./tail-sampler.ts";

let handedOn: SpanRecord[];
let dropped: number;
let now: number;
let spans: TailSampler;

beforeEach(() => {
  handedOn = [];
  dropped = 0;
  now = 0;
  spans = new TailSampler(
    { started: (span) => handedOn.push(span), ended: (span) => handedOn.push(span) },
    {
      keepErrors: true,
      keepSlowMs: 1_000,
      now: () => now,
      drops: { dropped: (_signal, _reason, count) => (dropped += count) },
    },
  );
});

function spanOf(
  traceId: string,
  more: { sampled?: boolean; status?: SpanRecord["status"]; ms?: number; size?: number; outside?: boolean } = {},
): SpanRecord {
  return {
    traceId,
    spanId: "b7ad6b7169203331",
    parentSpanId: undefined,
    name: "one",
    kind: "server",
    startUnixNano: 1_000_000_000n,
    endUnixNano: 1_000_000_000n + BigInt(Math.round((more.ms ?? 1) * 1e6)),
    status: more.status ?? "ok",
    statusDescription: undefined,
    attributes: {},
    events: [],
    links: [],
    baggage: {},
    resource: { service: "a", workerId: undefined, attributes: {} },
    scopeName: undefined,
    scopeVersion: undefined,
    internal: false,
    sampled: more.sampled ?? false,
    size: more.size ?? 100,
    outside: more.outside,
  };
}

describe("spans that were not sampled", () => {
  test("go nowhere, and those that were sampled go on at once", () => {
    spans.started(spanOf("a"));
    spans.ended(spanOf("a"));
    expect(handedOn).toEqual([]);
    const sampled = spanOf("b", { sampled: true });
    spans.started(sampled);
    spans.ended(sampled);
    expect(handedOn).toEqual([sampled, sampled]);
  });

  test("go on when one of their trace has an error, and what comes of it later too", () => {
    const [first, second, other] = [spanOf("a"), spanOf("a"), spanOf("b")];
    for (const span of [first, other, second]) spans.ended(span);
    const failed = spanOf("a", { status: "error" });
    const later = spanOf("a");
    spans.ended(failed);
    spans.ended(later);
    expect(handedOn).toEqual([first, second, failed, later]);
    expect(spans.heldSpans).toBe(1);
  });

  test("go on when one of their trace was slow", () => {
    spans.ended(spanOf("a"));
    spans.ended(spanOf("a", { ms: 1_000 }));
    expect(handedOn).toHaveLength(2);
  });

  test("wait for that only so long", () => {
    spans.ended(spanOf("a"));
    now = HOLD_MS;
    spans.ended(spanOf("b"));
    expect(spans.heldSpans).toBe(1);
    spans.ended(spanOf("a", { status: "error" }));
    expect(handedOn).toHaveLength(1);
  });

  test("are bounded: the oldest are dropped and counted", () => {
    for (let index = 0; index < MAX_HELD_SPANS + 100; index++) spans.ended(spanOf(`trace ${index}`));
    expect([spans.heldSpans, dropped]).toEqual([MAX_HELD_SPANS, 100]);
    spans.ended(spanOf("trace 5", { status: "error" }));
    spans.ended(spanOf("trace 100", { status: "error" }));
    expect(handedOn).toHaveLength(1 + 2);
  });

  test("of one endless trace are bounded as well", () => {
    for (let index = 0; index < MAX_HELD_SPANS * 3; index++) spans.ended(spanOf("a"));
    expect(spans.heldSpans).toBeLessThanOrEqual(MAX_HELD_SPANS);
  });

  test("are bounded by bytes as well, since workers send large ones: the oldest go, counted", () => {
    const size = MAX_HELD_BYTES / 16;
    for (let index = 0; index < 20; index++) spans.ended(spanOf(`trace ${index}`, { size }));
    expect([spans.heldSpans, dropped]).toEqual([16, 4]);
    spans.ended(spanOf("trace 19", { status: "error" }));
    expect([handedOn.length, spans.heldSpans]).toEqual([2, 15]);
  });

  test("that are external take at most half of the limit and are dropped first, so that the engine's own wait as long as before", () => {
    spans.ended(spanOf("own"));
    for (let index = 0; index < MAX_HELD_SPANS * 2; index++) spans.ended(spanOf(`outside ${index}`, { outside: true }));
    expect([spans.heldSpans, dropped]).toEqual([1 + MAX_HELD_SPANS / 2, MAX_HELD_SPANS * 1.5]);
    for (let index = 0; index < MAX_HELD_SPANS - 2; index++) spans.ended(spanOf(`other ${index}`));
    expect(spans.heldSpans).toBe(MAX_HELD_SPANS);
    spans.ended(spanOf(`outside ${MAX_HELD_SPANS * 2 - 1}`, { status: "error", outside: true }));
    spans.ended(spanOf("own", { status: "error" }));
    expect(handedOn).toHaveLength(4);
  });

  test("from outside do not push out the engine's own by their size, nor stay out of all room that is free again", () => {
    spans.ended(spanOf("own"));
    for (let index = 0; index < 40; index++)
      spans.ended(spanOf(`outside ${index}`, { outside: true, size: MAX_HELD_BYTES / 16 }));
    expect(spans.heldSpans).toBe(1 + 8);
    for (let index = 0; index < 15; index++) spans.ended(spanOf(`own ${index}`, { size: MAX_HELD_BYTES / 16 }));
    expect(spans.heldSpans).toBe(16);
    spans.ended(spanOf("late", { outside: true, size: MAX_HELD_BYTES / 16 }));
    expect(spans.heldSpans).toBe(16);
    spans.ended(spanOf("own", { status: "error" }));
    expect(handedOn).toHaveLength(2);
    now = HOLD_MS;
    spans.ended(spanOf("later", { outside: true }));
    expect(spans.heldSpans).toBe(1);
  });

  test("are never kept where nothing is worth it", () => {
    spans.options = { keepErrors: false, keepSlowMs: 0 };
    spans.ended(spanOf("a", { status: "error", ms: 99_999 }));
    expect([handedOn.length, spans.heldSpans]).toEqual([0, 0]);
  });

  test("are let go of again when thousands of traces fail", () => {
    for (let index = 0; index < 20_000; index++) {
      spans.ended(spanOf(`trace ${index}`));
      spans.ended(spanOf(`trace ${index}`, { status: "error" }));
    }
    expect([handedOn.length, spans.heldSpans, dropped]).toEqual([40_000, 0, 0]);
  });
});
