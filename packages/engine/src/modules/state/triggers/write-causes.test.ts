import { describe, expect, it } from "vitest";
import { manualClock } from "../../../testing/manual-clock.ts";
import { decodeOrigin, encodeOrigin, newTraceparent } from "./origin.ts";
import { WriteCauses } from "./write-causes.ts";

const link = { functionId: "f", scope: "s", key: "k" };
const caller = { worker_id: "w1", name: "w" };
const watchers = [{ id: "watcher" }];

function begun(clock = manualClock()) {
  const causes = new WriteCauses(clock);
  const write = { traceparent: newTraceparent(), baggage: undefined, depth: 2, chain: [] };
  return { causes, write, delivery: causes.begin(write, "watcher", "item", link) };
}

describe("what caused a write", () => {
  it("is the delivery whose traceparent it carries, also for a while after that ended, and nothing else of the same trace", () => {
    const clock = manualClock();
    const { causes, write, delivery } = begun(clock);
    expect(delivery.traceparent.slice(0, 36)).toBe(write.traceparent.slice(0, 36));
    expect(causes.causeOf({ traceparent: delivery.traceparent }, "other", [])).toMatchObject({
      depth: 3,
      chain: [link],
    });
    expect(causes.causeOf({ traceparent: write.traceparent, caller }, "item", watchers)).toBeUndefined();
    delivery.end();
    clock.advance(599_000);
    expect(causes.causeOf({ traceparent: delivery.traceparent }, "other", [])).toMatchObject({ depth: 3 });
    clock.advance(2_000);
    expect(causes.causeOf({ traceparent: delivery.traceparent }, "other", [])).toBeUndefined();
  });

  it("is, for a client that passes no trace on, what its worker is running: in the same trace, or by the same watcher and item", () => {
    const { causes, delivery } = begun();
    delivery.runsOn("w1", false);
    expect(causes.causeOf({ caller }, "item", watchers)).toMatchObject({ depth: 3 });
    expect(causes.causeOf({ caller }, "item", [{ id: "another" }])).toBeUndefined();
    expect(causes.causeOf({ caller }, "other", watchers)).toBeUndefined();
    const span = `${delivery.traceparent.slice(0, 36)}00000000000000aa-01`;
    expect(causes.causeOf({ caller, traceparent: span }, "other", [])).toMatchObject({ depth: 3 });
    expect(causes.causeOf({ caller: { worker_id: "w2", name: "" } }, "item", watchers)).toBeUndefined();
    delivery.end();
    expect(causes.causeOf({ caller }, "item", watchers)).toBeUndefined();
  });

  it("is the delivery that its baggage names, where calls on the way have spans of their own", () => {
    const { causes, write } = begun();
    const recorded = `${write.traceparent.slice(0, 36)}00000000000000aa-01`;
    const delivery = causes.begin(
      { ...write, baggage: `a=b,svc.firing=${"1".repeat(32)}-${"2".repeat(16)}` },
      "watcher",
      "item",
      link,
      recorded,
    );
    expect(delivery.traceparent).toBe(recorded);
    expect(delivery.baggage).toBe(`a=b,svc.firing=${recorded.slice(3, 52)}`);
    const below = `${write.traceparent.slice(0, 36)}00000000000000bb-01`;
    expect(causes.causeOf({ traceparent: below, baggage: delivery.baggage }, "other", [])).toMatchObject({
      depth: 3,
      chain: [link],
    });
    expect(causes.causeOf({ traceparent: below, baggage: "a=b" }, "other", [])).toBeUndefined();
    expect(
      causes.causeOf({ traceparent: below, baggage: `svc.firing=${"1".repeat(32)}-${"2".repeat(16)}` }, "other", []),
    ).toBeUndefined();
  });

  it("is never guessed for a worker that passes traces on", () => {
    const { causes, delivery } = begun();
    delivery.runsOn("w1", true);
    expect(causes.causeOf({ caller }, "item", watchers)).toBeUndefined();
  });

  it("remembers a bounded number", () => {
    const { causes, write, delivery } = begun();
    for (let number = 0; number < 10_001; number++) causes.begin(write, "watcher", "item", link);
    expect(causes.causeOf({ traceparent: delivery.traceparent }, "item", watchers)).toBeUndefined();
  });
});

describe("what a delivery keeps of its write", () => {
  it("fits 1 KiB whatever the names are, and comes back", () => {
    const long = "\u{1f600}".repeat(512);
    const origin = { traceparent: newTraceparent(), baggage: "a=b", depth: 15, chain: [link, link, link] };
    expect(decodeOrigin(encodeOrigin(origin))).toEqual(origin);
    for (const chain of [
      [{ functionId: long, scope: long, key: long }],
      [link, { functionId: long, scope: long, key: long }, link],
    ]) {
      const text = encodeOrigin({ ...origin, baggage: "x".repeat(8_000), chain });
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_024);
      expect(decodeOrigin(text)).toMatchObject({ depth: 15, traceparent: origin.traceparent });
    }
    expect(decodeOrigin("not ours")).toMatchObject({ depth: 0, chain: [] });
  });
});
