import { manualClock } from "@svc-runtime/engine/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sizeOf } from "./bounded-record.ts";
import { NO_FILTER } from "./log-filter.ts";
import { type MemoryLimits, MemoryLogs } from "./memory-logs.ts";
import { logRecord } from "./testing/records.ts";

function memory(limits: Partial<MemoryLimits>) {
  const clock = manualClock();
  const store = new MemoryLogs({ clock, limits: { maxCount: 1e6, maxBytes: 1e9, maxAgeMs: undefined, ...limits } });
  let id = 0;
  return {
    clock,
    store,
    add: (...records: readonly ReturnType<typeof logRecord>[]) => {
      for (const log of records) store.add({ id: ++id, log });
    },
    held: () => {
      const { entries } = store
        .open()
        .page({ filter: NO_FILTER, order: "asc", after: undefined, limit: 1e6, rows: 1e6 }) as {
        entries: readonly { readonly id: number; readonly log: { readonly resource: { readonly service: string } } }[];
      };
      return entries;
    },
  };
}

describe("log entries in memory", () => {
  it("are bounded in number, the oldest are evicted first (L-2)", () => {
    const { add, held, store } = memory({ maxCount: 3 });
    add(...Array.from({ length: 1_000 }, () => logRecord()));
    expect(held().map(({ id }) => id)).toEqual([998, 999, 1_000]);
    expect(store.stats()).toMatchObject({ stored: 3, limit: 3 });
    store.setLimits({ maxCount: 2, maxBytes: 1e9, maxAgeMs: undefined });
    expect(held().map(({ id }) => id)).toEqual([999, 1_000]);
  });

  it("are bounded in bytes, the oldest are evicted first (L-2)", () => {
    const big = logRecord({ body: "x".repeat(10_000) });
    const { add, held, store } = memory({ maxBytes: 3.5 * sizeOf(big) });
    add(...Array.from({ length: 50 }, () => big));
    expect(held()).toHaveLength(3);
    expect(store.stats().bytes).toBe(3 * sizeOf(big));
  });

  it("are at most so old, by the time that they came", () => {
    const { add, held, clock } = memory({ maxAgeMs: 1_000 });
    add(logRecord({ atMs: 1e9 }));
    clock.advance(600);
    add(logRecord({ atMs: -1e9 }));
    clock.advance(600);
    expect(held().map(({ id }) => id)).toEqual([2]);
    clock.advance(600);
    expect(held()).toEqual([]);
  });

  it("of a chatty source fill at most half of it while others have entries", () => {
    const { add, held } = memory({ maxCount: 100 });
    add(
      ...Array.from({ length: 40 }, () => logRecord({ service: "quiet" })),
      ...Array.from({ length: 10 }, () => logRecord({ service: "shy" })),
    );
    add(...Array.from({ length: 10_000 }, () => logRecord({ service: "chatty" })));
    const services = held().map(({ log }) => log.resource.service);
    expect(services.filter((service) => service === "quiet")).toHaveLength(40);
    expect(services.filter((service) => service === "shy")).toHaveLength(10);
    expect(services.filter((service) => service === "chatty")).toHaveLength(50);
  });

  it("of a source that is alone fill all of it", () => {
    const { add, held } = memory({ maxCount: 100 });
    add(...Array.from({ length: 500 }, () => logRecord({ service: "chatty" })));
    expect(held()).toHaveLength(100);
  });

  it("of a hundred thousand sources keep within their bounds", () => {
    const { add, store } = memory({ maxCount: 1_000 });
    add(...Array.from({ length: 100_000 }, (_, index) => logRecord({ service: `service ${index}` })));
    expect(store.stats().stored).toBe(1_000);
  });

  it("are in time order and complete, whenever queries are made", () => {
    const arrivals = fc.record({
      atMs: fc.integer({ min: 0, max: 20 }),
      service: fc.constantFrom("a", "b", "c"),
      isQueried: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(arrivals, { maxLength: 400 }), fc.integer({ min: 1, max: 60 }), (all, maxCount) => {
        const asked = memory({ maxCount });
        const silent = memory({ maxCount });
        for (const { isQueried, ...record } of all) {
          for (const { add } of [asked, silent]) add(logRecord(record));
          if (isQueried) asked.held();
        }
        const ids = asked.held().map(({ id }) => id);
        expect(ids).toEqual(silent.held().map(({ id }) => id));
        const timeOf = (id: number): number => all[id - 1]?.atMs ?? 0;
        expect(ids).toEqual(ids.toSorted((a, b) => timeOf(a) - timeOf(b) || a - b));
        expect(ids).toHaveLength(Math.min(maxCount, all.length));
      }),
    );
  });

  it("are sorted once: a repeated query does not read the order of earlier entries again", () => {
    const { add, held } = memory({});
    let reads = 0;
    const counted = (atMs: number) => {
      const log = logRecord({ atMs });
      return {
        ...log,
        get timeUnixNano() {
          reads += 1;
          return log.timeUnixNano;
        },
      };
    };
    add(...Array.from({ length: 5_000 }, (_, at) => counted(at)));
    held();
    add(counted(5_000));
    reads = 0;
    held();
    expect(reads).toBeLessThan(10);
  });
});
