import { describe, expect, it } from "vitest";
import type { SpanRecord } from "../../telemetry-records.ts";
import { PendingSpans } from "./pending-spans.ts";

const span = (spanId: string): SpanRecord => ({ spanId }) as SpanRecord;

describe("pending spans", () => {
  it("are those that were added and not removed, in whatever order they end", () => {
    const pending = new PendingSpans();
    const [first, second, third] = [span("1"), span("2"), span("3")];
    for (const one of [first, second, third]) pending.add(one);
    pending.remove(first);
    expect(new Set(pending)).toEqual(new Set([second, third]));
    pending.remove(third);
    pending.remove(third);
    expect([...pending]).toEqual([second]);
    pending.remove(span("from outside"));
    expect([...pending]).toEqual([second]);
    pending.remove(second);
    expect([...pending]).toEqual([]);
  });

  it("are bounded", () => {
    const pending = new PendingSpans();
    const all = Array.from({ length: 10_001 }, (_, at) => span(String(at)));
    for (const one of all) pending.add(one);
    expect([...pending]).toHaveLength(10_000);
    for (const one of all) pending.remove(one);
    expect([...pending]).toEqual([]);
  });
});
