import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ModuleSpan, type ModuleSpanHost } from "./module-span.ts";
import { SpanClock } from "./span-clock.ts";

const MAX_ATTRIBUTES = 128;

function open(): ModuleSpan {
  const host: ModuleSpanHost = {
    clock: new SpanClock({ now: () => 0, monotonic: () => 0, after: () => () => {} }),
    sink: { started: () => {}, ended: () => {} },
    resource: { service: "svc", workerId: undefined, attributes: {} },
    onEnd: () => {},
  };
  return new ModuleSpan(
    host,
    { name: "span", kind: "server" },
    { traceId: "1".repeat(32), spanId: "1".repeat(16), parentSpanId: undefined, sampled: true },
  );
}

describe("a span of a module", () => {
  it("has the last value of each attribute, up to the limit of names", () => {
    const name = fc.oneof(
      fc.constantFrom("a", "b", "__proto__", "constructor", "svc.error.code"),
      fc.integer({ min: 0, max: 9 }).map((number) => `n${number}`),
    );
    const value = fc.oneof(fc.string(), fc.integer(), fc.boolean());
    const before = fc.constantFrom(0, MAX_ATTRIBUTES - 4);
    fc.assert(
      fc.property(before, fc.array(fc.tuple(name, value), { maxLength: 12 }), (count, then) => {
        const span = open();
        const expected = new Map<string, unknown>();
        const sent = [...Array.from({ length: count }, (_, number) => [`before${number}`, number] as const), ...then];
        for (const [key, given] of sent) {
          span.setAttribute(key, given);
          if (expected.has(key) || expected.size < MAX_ATTRIBUTES) expected.set(key, given);
        }
        span.end();
        span.setAttribute("late", true);
        expect(Object.entries(span.attributes)).toEqual([...expected]);
      }),
    );
  });
});
