import { describe, expect, it } from "vitest";
import type { NumberedEvent } from "./event-message.ts";
import { EventRing } from "./event-ring.ts";

const event = (seq: number, bytes = 1): NumberedEvent => ({
  stream: "s",
  group: "g",
  id: "a",
  type: "update",
  json: "1",
  version: seq,
  seq,
  timestamp: 0,
  bytes,
});
const numbers = (events: readonly NumberedEvent[] | undefined): number[] | undefined => events?.map(({ seq }) => seq);

describe("the events that are kept of a group", () => {
  it("are those behind a number, or none when not all of them are kept", () => {
    const ring = new EventRing(5);
    expect(ring.after(5)).toEqual([]);
    for (const seq of [6, 7, 8]) ring.push(event(seq));
    expect(numbers(ring.after(5))).toEqual([6, 7, 8]);
    expect(numbers(ring.after(7))).toEqual([8]);
    expect(ring.after(8)).toEqual([]);
    expect(ring.after(4)).toBeUndefined();
    expect(ring.after(9)).toBeUndefined();
    ring.clear();
    expect([ring.after(7), ring.after(8), ring.bytes]).toEqual([undefined, [], 0]);
  });

  it("are 1,000 at most, and 1 MiB, however many come and go (R-3)", () => {
    const ring = new EventRing(0);
    for (let seq = 1; seq <= 10_000; seq++) {
      ring.push(event(seq));
      if (seq % 777 === 0)
        expect(numbers(ring.after(seq - 500))).toEqual(Array.from({ length: 500 }, (_, at) => seq - 499 + at));
    }
    expect(ring.after(9_000)).toHaveLength(1_000);
    expect(ring.after(8_999)).toBeUndefined();
    expect(ring.bytes).toBe(1_000);

    for (let seq = 10_001; seq <= 10_010; seq++) ring.push(event(seq, 300_000));
    expect(numbers(ring.after(10_007))).toEqual([10_008, 10_009, 10_010]);
    expect(ring.after(10_006)).toBeUndefined();
    ring.push(event(10_011, 2_000_000));
    expect([ring.after(10_010), ring.after(10_011), ring.bytes]).toEqual([undefined, [], 0]);
  });
});
