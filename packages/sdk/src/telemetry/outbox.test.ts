import { describe, expect, it } from "vitest";
import { ManualClock } from "../manual-clock.test.support.ts";
import { BATCH_ENTRIES, FLUSH_AFTER_MS, MAX_CHARS, MAX_ENTRIES, Outbox } from "./outbox.ts";

function made() {
  const clock = new ManualClock();
  const sent: (readonly string[])[] = [];
  const lost: number[] = [];
  const state = { takes: true };
  const outbox = new Outbox({
    clock,
    send: (entries) => {
      if (state.takes) sent.push(entries);
      return state.takes;
    },
    lost: (count) => lost.push(count),
  });
  return { clock, sent, lost, state, outbox };
}

describe("an outbox", () => {
  it("sends entries of 100 ms together", () => {
    const { clock, sent, outbox } = made();
    outbox.open();
    outbox.add("a");
    clock.advance(FLUSH_AFTER_MS - 1);
    outbox.add("b");
    expect(sent).toEqual([]);
    clock.advance(1);
    expect(sent).toEqual([["a", "b"]]);
    expect(clock.timers).toBe(0);
  });

  it("does not wait with 64 entries", () => {
    const { sent, outbox } = made();
    outbox.open();
    for (let n = 0; n < BATCH_ENTRIES; n++) outbox.add(String(n));
    expect(sent.map((batch) => batch.length)).toEqual([BATCH_ENTRIES]);
  });

  it("keeps entries while it is closed, without a timer, and sends them when it is opened", () => {
    const { clock, sent, outbox } = made();
    for (let n = 0; n < 70; n++) outbox.add(String(n));
    expect(clock.timers).toBe(0);
    outbox.open();
    expect(sent.map((batch) => batch.length)).toEqual([64, 6]);
  });

  it("retries later if the socket has a backlog", () => {
    const { clock, sent, state, outbox } = made();
    outbox.open();
    state.takes = false;
    outbox.add("a");
    clock.advance(10 * FLUSH_AFTER_MS);
    state.takes = true;
    clock.advance(FLUSH_AFTER_MS);
    expect(sent).toEqual([["a"]]);
  });

  it("drops the oldest entries beyond 1,000, and reports their number", () => {
    const { sent, lost, outbox } = made();
    for (let n = 0; n < 5000; n++) outbox.add(String(n));
    outbox.open();
    const entries = sent.flat();
    expect(entries.length).toBeLessThanOrEqual(MAX_ENTRIES);
    expect(entries.length).toBeGreaterThan(MAX_ENTRIES - 2 * BATCH_ENTRIES);
    expect(entries.at(-1)).toBe("4999");
    expect(lost).toEqual([5000 - entries.length]);
  });

  it("drops the oldest entries beyond 1 MiB", () => {
    const { sent, lost, outbox } = made();
    for (let n = 0; n < 40; n++) outbox.add("x".repeat(100_000));
    outbox.open();
    expect(sent.flat().join("").length).toBeLessThanOrEqual(MAX_CHARS);
    expect(sent.flat().length).toBeGreaterThan(5);
    expect(lost).toEqual([40 - sent.flat().length]);
  });
});
