import { manualClock } from "@svc-runtime/engine/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogRecord } from "../telemetry-records.ts";
import { LABEL_FACETS } from "./label-sets.ts";
import { logSelector, NO_FILTER } from "./log-filter.ts";
import { invalidInput, logFilterOf } from "./log-filter-input.ts";
import type { LogSource, PageSlice, TallyRequest, TallySlice } from "./log-store.ts";
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

/** Counts in slices of `rows`; calls `afterSlice` after each. */
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
  return { slices, results: resultsOf(tally) };
}

/** Counts by reading each entry. */
function countByReading(source: LogSource, request: Counted) {
  const all = { filter: NO_FILTER, order: "asc", after: undefined, limit: 1e6, rows: 1e6 } as const;
  const { entries } = source.page(all) as PageSlice;
  const tally = new Tally(request);
  const slice = new Tally(request);
  for (const entry of logSelector(request.filter, invalidInput)(entries)) slice.add(entry);
  tally.merge(slice.slice(undefined));
  return resultsOf(tally);
}

/** Returns all results, with the values of the facets in their order. */
function resultsOf({ total, histogram, firstMs, lastMs, facets }: Tally) {
  return {
    ...{ total, histogram, firstMs, lastMs },
    facets: [...facets].map(([name, counts]) => [name, [...counts]] as const),
  };
}

const attributeValues = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom("shop::order", "a", "", "token=abc123", "Bearer abc123def", "w1", "id-1") },
  { weight: 1, arbitrary: fc.constantFrom<LogRecord["attributes"][string]>(5, null, { a: "b" }, "x".repeat(2_000)) },
);
const records = fc
  .record({
    atMs: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.double({ min: 0, max: 20, noNaN: true })),
    severityNumber: fc.integer({ min: 1, max: 24 }),
    service: fc.constantFrom("shop", "till", "w1"),
    workerId: fc.constantFrom(undefined, undefined, "id-1"),
    attributes: fc.dictionary(
      fc.constantFrom("svc.function_id", "function_id", "svc.worker.name", "svc.worker.id", "worker_id", "note"),
      attributeValues,
      { noNullPrototype: true },
    ),
  })
  .map(({ atMs, severityNumber, service, workerId, attributes }) =>
    logRecord({ atMs, severityNumber, attributes, resource: { service, workerId, attributes: {} } }),
  );
const someRecords = fc.array(records, { maxLength: 60, size: "max" });
const times = fc.oneof(
  fc.integer({ min: START_MS - 1, max: START_MS + 70 }),
  fc.double({ min: START_MS - 1, max: START_MS + 70, noNaN: true }),
);
const optional = <Value>(of: fc.Arbitrary<Value>) => fc.oneof(fc.constant(undefined), fc.constant(undefined), of);
const filters = fc.record({
  start_time: optional(times),
  end_time: optional(times),
  severity_min: optional(fc.integer({ min: 1, max: 24 })),
  levels: optional(fc.subarray(["info", "warn", "error", "fatal"])),
  services: optional(fc.subarray(["shop", "till", "nobody"])),
  worker: optional(fc.constantFrom("w1", "id-1", "shop")),
  function_id: optional(fc.constantFrom("shop::order", "a", "")),
  exclude: optional(fc.record({ services: fc.subarray(["shop", "till"]) })),
  query: optional(
    fc.constantFrom(
      "level:error or service:shop",
      "-(service:till or worker:w1)",
      "level:warn",
      "attr.note:a",
      "token",
    ),
  ),
});

describe("counts of log entries in memory by their labels", () => {
  it("have the results of reading each entry, also after entries arrived late or were evicted", () => {
    fc.assert(
      fc.property(
        fc.array(someRecords, { minLength: 1, maxLength: 4 }),
        filters,
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 5 }),
        (batches, input, maxCount, rows) => {
          const { store, add } = memory(maxCount);
          const histogram = { startMs: START_MS + 2, endMs: START_MS + 50.5, buckets: 7 };
          for (const [index, batch] of batches.entries()) {
            // Usually entries are later than those of the batch before.
            add(...batch.map((log) => ({ ...log, timeUnixNano: log.timeUnixNano + BigInt(index * 15_000_000) })));
            const source = store.open();
            for (const redactKeys of [["function"], ["worker", "note"]])
              for (const facets of [LABEL_FACETS, [], [...LABEL_FACETS, "note"]]) {
                const request = { filter: logFilterOf(input, redactKeys), facets, histogram };
                expect(count(source, request, rows).results).toEqual(countByReading(source, request));
              }
          }
        },
      ),
      // Shrinking so many entries would take minutes.
      { endOnFailure: true },
    );
  });

  it("leave out at most what is evicted meanwhile", () => {
    fc.assert(
      fc.property(someRecords, someRecords, fc.boolean(), (before, during, isRepeated) => {
        const { store, add } = memory(60);
        add(...before);
        const source = store.open();
        const request = { filter: NO_FILTER, facets: LABEL_FACETS, histogram: undefined };
        if (isRepeated) count(source, request);
        const late = [...during];
        const { total } = count(source, request, 1, () => add(...late.splice(0, 2))).results;
        expect(total).toBeLessThanOrEqual(before.length);
        expect(total).toBeGreaterThanOrEqual(countByReading(source, request).total);
        add(...late);
        const open = () => count(store.open(), request).results;
        expect(open().total).toBe(Math.min(60, before.length + during.length));
      }),
    );
  });

  it("have the results of reading each entry if there are more label sets and values than are kept", () => {
    const { store, add } = memory();
    let reads = 0;
    const services = Array.from({ length: 1_500 }, (_, at) => `service ${at}`);
    const record = (at: number): LogRecord => ({
      ...logRecord({ atMs: at, service: `service ${at % services.length}` }),
      get attributes() {
        reads += 1;
        return {};
      },
    });
    add(...Array.from({ length: 4_000 }, (_, at) => record(at)));
    for (let time = 0; time < 2; time++) {
      const request = { filter: NO_FILTER, facets: LABEL_FACETS, histogram: undefined };
      const expected = countByReading(store.open(), request);
      reads = 0;
      const { results } = count(store.open(), request);
      // More label sets would take more memory.
      expect(reads).toBeGreaterThan(1_000);
      expect(results).toEqual(expected);
      const counted = results.facets.find(([name]) => name === "service")?.[1];
      expect(counted).toEqual([...services.slice(0, 1_000).map((service) => [service, 3]), [OTHER_VALUES, 1_000]]);
    }
  });

  it("keep apart values that could be read as one", () => {
    const { store, add } = memory();
    const ids = [{ "svc.function_id": "a:b" }, { "svc.function_id": "a", function_id: "b-" }];
    add(...ids.map((attributes) => logRecord({ attributes })));
    const request = { filter: NO_FILTER, facets: ["function_id"], histogram: undefined };
    expect(count(store.open(), request).results.facets).toEqual([
      [
        "function_id",
        [
          ["a:b", 1],
          ["a", 1],
        ],
      ],
    ]);
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
