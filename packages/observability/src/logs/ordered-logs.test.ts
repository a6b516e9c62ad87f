import { manualClock } from "@svc-runtime/engine/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogRecord } from "../telemetry-records.ts";
import { LABEL_FACETS } from "./label-sets.ts";
import { type LogFilter, NO_FILTER } from "./log-filter.ts";
import { logFilterOf } from "./log-filter-input.ts";
import type { LogSource, TallyRequest, TallySlice } from "./log-store.ts";
import { OTHER_VALUES, Tally } from "./log-tally.ts";
import { MemoryLogs } from "./memory-logs.ts";
import { logRecord, START_MS } from "./testing/records.ts";

function memory(maxCount = 1e6) {
  const store = new MemoryLogs({ clock: manualClock(), limits: { maxCount, maxBytes: 1e9, maxAgeMs: undefined } });
  let id = 0;
  return {
    store,
    add: (...records: readonly LogRecord[]) => {
      for (const log of records) store.add({ id: ++id, log });
    },
  };
}

type Counted = Pick<TallyRequest, "filter" | "facets" | "histogram">;

/** Counts in slices of `rows`; calls `afterSlice` after each. Returns all results, with the facets in their order. */
function count(source: LogSource, request: Counted, rows = 250, afterSlice = (): void => {}) {
  const tally = new Tally(request);
  let slices = 0;
  let after: TallySlice["next"];
  do {
    const slice = source.tally({ ...request, rows, after }) as TallySlice;
    tally.merge(slice);
    after = slice.next;
    slices += 1;
    afterSlice();
  } while (after !== undefined);
  const { total, histogram, firstMs, lastMs } = tally;
  const facets = [...tally.facets].map(([name, counts]) => [name, [...counts]] as const);
  return { slices, results: { total, histogram, firstMs, lastMs, facets } };
}

/** A filter with the same matches that cannot be tested by labels. */
function testedByEntry(filter: LogFilter): LogFilter {
  return { ...filter, excludeText: "a text that no entry has" };
}

const attributeValues = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom("shop::order", "1:a", "-", "", "token=abc123", "Bearer abc123def", "w1") },
  { weight: 1, arbitrary: fc.constantFrom<LogRecord["attributes"][string]>(5, null, { a: "b" }, "x".repeat(2_000)) },
);
const records = fc
  .record({
    atMs: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.double({ min: 0, max: 20, noNaN: true })),
    severityNumber: fc.integer({ min: 1, max: 24 }),
    service: fc.constantFrom("shop", "till", "w1"),
    workerId: fc.constantFrom(undefined, "id-1"),
    attributes: fc.dictionary(
      fc.constantFrom("svc.function_id", "function_id", "svc.worker.name", "svc.worker.id", "worker_id", "note"),
      attributeValues,
      { noNullPrototype: true },
    ),
  })
  .map(({ atMs, severityNumber, service, workerId, attributes }) =>
    logRecord({ atMs, severityNumber, attributes, resource: { service, workerId, attributes: {} } }),
  );
const times = fc.double({ min: START_MS - 1, max: START_MS + 21, noNaN: true });
const optional = <Value>(of: fc.Arbitrary<Value>) => fc.option(of, { nil: undefined, freq: 2 });
const filters = fc
  .record({
    input: fc.record({
      start_time: optional(times),
      end_time: optional(times),
      severity_min: optional(fc.integer({ min: 1, max: 24 })),
      levels: optional(fc.subarray(["info", "warn", "error", "fatal"])),
      services: optional(fc.subarray(["shop", "till", "nobody"])),
      worker: optional(fc.constantFrom("w1", "id-1", "shop")),
      function_id: optional(fc.constantFrom("shop::order", "1:a", "")),
      exclude: optional(fc.record({ services: fc.subarray(["shop", "till"]) })),
      query: optional(fc.constantFrom("level:error or service:shop", "-(service:till or worker:w1)", "level:warn")),
    }),
    redactKeys: fc.constantFrom([], ["function"], ["worker", "note"]),
  })
  .map(({ input, redactKeys }) => logFilterOf(input, redactKeys));

describe("counts of log entries in memory by their labels", () => {
  it("have the results of reading each entry, also after entries arrived late or were evicted", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(records, { maxLength: 60 }), { minLength: 1, maxLength: 4 }),
        filters,
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 5 }),
        (batches, filter, maxCount, rows) => {
          const { store, add } = memory(maxCount);
          const histogram = { startMs: START_MS + 2, endMs: START_MS + 15.5, buckets: 7 };
          for (const batch of batches) {
            add(...batch);
            const source = store.open();
            for (const facets of [LABEL_FACETS, []])
              expect(count(source, { filter, facets, histogram }, rows).results).toEqual(
                count(source, { filter: testedByEntry(filter), facets, histogram }).results,
              );
          }
        },
      ),
    );
  });

  it("leave out at most what is evicted meanwhile", () => {
    fc.assert(
      fc.property(
        fc.array(records, { maxLength: 60 }),
        fc.array(records, { maxLength: 60 }),
        fc.boolean(),
        (before, during, isRepeated) => {
          const { store, add } = memory(60);
          add(...before);
          const source = store.open();
          const request = { filter: NO_FILTER, facets: LABEL_FACETS, histogram: undefined };
          if (isRepeated) count(source, request);
          const late = [...during];
          const { total } = count(source, request, 1, () => add(...late.splice(0, 2))).results;
          expect(total).toBeLessThanOrEqual(before.length);
          const left = count(source, { ...request, filter: testedByEntry(NO_FILTER) }).results.total;
          expect(total).toBeGreaterThanOrEqual(left);
          add(...late);
          const open = () => count(store.open(), request).results;
          expect(open().total).toBe(Math.min(60, before.length + during.length));
        },
      ),
    );
  });

  it("have the results of reading each entry if there are more label sets and values than are kept", () => {
    const { store, add } = memory();
    const record = (at: number) =>
      logRecord({ atMs: at, service: `service ${at % 1_500}`, severityNumber: 9 + (at % 2) });
    add(...Array.from({ length: 4_000 }, (_, at) => record(at)));
    for (let time = 0; time < 2; time++) {
      const request = { filter: NO_FILTER, facets: LABEL_FACETS, histogram: undefined };
      const { results } = count(store.open(), request);
      expect(results).toEqual(count(store.open(), { ...request, filter: testedByEntry(NO_FILTER) }).results);
      const services = results.facets.find(([name]) => name === "service")?.[1] ?? [];
      expect(services).toHaveLength(1_001);
      expect(services.at(-1)?.[0]).toBe(OTHER_VALUES);
    }
  });

  it("read each entry once, also after many label sets came and went", () => {
    const { store, add } = memory(200);
    let reads = 0;
    const counted = (at: number): LogRecord => {
      const log = logRecord({ atMs: at, service: `service ${Math.floor(at / 10)}` });
      return {
        ...log,
        get attributes() {
          reads += 1;
          return { "svc.function_id": "shop::order" };
        },
      };
    };
    const filter = logFilterOf({ function_id: "shop::order", levels: ["info"], start_time: START_MS });
    const histogram = { startMs: START_MS, endMs: START_MS + 20_000, buckets: 80 };
    const total = (): number => {
      const facets = count(store.open(), { filter, facets: LABEL_FACETS, histogram: undefined });
      const overTime = count(store.open(), { filter, facets: [], histogram });
      expect(facets.results.total).toBe(overTime.results.total);
      return facets.results.total;
    };
    for (let at = 0; at < 20_000; at++) {
      add(counted(at));
      if (at % 100 === 99) total();
    }
    reads = 0;
    expect(total()).toBe(200);
    expect(reads).toBe(0);
    store.clear();
    expect(total()).toBe(0);
  });

  it("pass over many entries in one slice, but not over all", () => {
    const { store, add } = memory();
    add(...Array.from({ length: 5_000 }, (_, at) => logRecord({ atMs: at })));
    const slices = () =>
      count(store.open(), { filter: NO_FILTER, facets: LABEL_FACETS, histogram: undefined }, 10).slices;
    expect([slices(), slices()]).toEqual([500, 5]);
  });
});
