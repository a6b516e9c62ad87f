import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, schemaOf, systemClock } from "@svc-runtime/engine/module";
import { openStore } from "@svc-runtime/engine/testing";
import { SecretMask } from "@svc-runtime/protocol";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { ArchivedSpans } from "./archived-spans.ts";
import { DiskSpanStore } from "./disk/disk-span-store.ts";
import { MemorySpanStore } from "./memory/memory-span-store.ts";
import { type SpanReader, type SpanStore, scanPages } from "./span-store.ts";
import { traceSummary } from "./stored-span.ts";
import { BASE, sampleSpan, spanIdOf, traceIdOf } from "./testing/sample-spans.ts";
import { traceFacets, traceHistogram } from "./trace-aggregates.ts";
import { statusOf } from "./trace-facts.ts";
import { type TraceFilters, type TraceListRequest, traceFiltersOf, traceFiltersSchema } from "./trace-query.ts";

const root = mkdtempSync(join(tmpdir(), "svc-spans-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const drops = { dropped: () => {} };
const redactor = (): SecretMask => new SecretMask(["password"]);
const log = createLogger({ level: "error", now: () => 0, write: () => {} });
let files = 0;

const stores: Record<string, () => SpanStore> = {
  memory: () => new MemorySpanStore({ maxSpans: 100_000, maxBytes: 1e9, keepSlowMs: 1_000 }, { drops, redactor }),
  disk: () => newDisk(),
  "copy on disk": () =>
    new ArchivedSpans({
      memory: new MemorySpanStore({ maxSpans: 10, maxBytes: 1e9, keepSlowMs: 1_000 }, { drops, redactor }),
      disk: newDisk(),
      hasEarlier: true,
      clock: systemClock,
      drops,
    }),
};

function newDisk(): DiskSpanStore {
  files += 1;
  return new DiskSpanStore({
    file: join(root, String(files), "spans.db"),
    limits: { maxBytes: 1e9, retentionMs: 1e9, keepSlowMs: 1_000 },
    log,
    clock: systemClock,
    drops,
    openStore,
    redactor,
    opens: "when needed",
  });
}

function filtersOf(input: Record<string, unknown>): TraceFilters {
  return traceFiltersOf(schemaOf(traceFiltersSchema).parse(input));
}

describe.each(Object.entries(stores))("spans in the %s", (_, open) => {
  const opened: SpanStore[] = [];
  let shared: SpanStore | undefined;
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });
  afterAll(() => shared?.close());

  function newStore(): SpanStore {
    const store = open();
    opened.push(store);
    return store;
  }

  function list(store: SpanStore, filters: Record<string, unknown> = {}, more: Partial<TraceListRequest> = {}) {
    return store.list({
      filters: filtersOf(filters),
      ...{ sortBy: "start_time", descending: true, after: undefined, offset: 0, limit: 100, spans: "root", ...more },
    });
  }

  async function numbers(
    store: SpanStore,
    filters: Record<string, unknown> = {},
    more: Partial<TraceListRequest> = {},
  ): Promise<number[]> {
    const { rows } = await list(store, filters, more);
    return rows.map(({ facts }) => Number.parseInt(facts.traceId, 16));
  }

  /** One store with `threeTraces` for all tests that only read it. */
  function sharedTraces(): SpanStore {
    shared ??= threeTraces(open());
    return shared;
  }

  /** Adds three traces: one of two services over 30 ms, one with an error, and one pending. */
  function threeTraces(store: SpanStore): SpanStore {
    store.ended(
      sampleSpan({
        ...{
          trace: 1,
          id: 12,
          parent: 11,
          service: "math",
          workerId: "w-1",
          startMs: 5,
          tookMs: 10,
          name: "math::add",
        },
        attributes: { "svc.function_id": "math::add", amount: 42, password: "hunter2", empty: "" },
        events: [
          {
            name: "svc.input",
            timeUnixNano: 5n,
            attributes: { "svc.payload.json": '{"note":"größter Auftrag","password":"swordfish"}' },
          },
        ],
      }),
    );
    store.ended(
      sampleSpan({ trace: 1, id: 11, tookMs: 30, name: "POST /Add", attributes: { "http.request.method": "POST" } }),
    );
    store.ended(
      sampleSpan({
        trace: 2,
        id: 21,
        startMs: 100,
        tookMs: 2_000,
        name: "cron nightly",
        service: "Reports",
        status: "error",
        statusDescription: "disk is full",
        attributes: { quoted: 'say "HÉ"' },
      }),
    );
    store.started(
      sampleSpan({
        trace: 3,
        id: 31,
        startMs: 200,
        tookMs: null,
        name: "queue orders",
        attributes: { "svc.trigger.type": "queue" },
      }),
    );
    return store;
  }

  it("make a trace with the status and duration of its root span, and with the work after it", async () => {
    const store = newStore();
    // A request that was answered, and whose job failed later.
    store.ended(sampleSpan({ trace: 1, id: 12, parent: 11, startMs: 100, tookMs: 1_520, status: "error" }));
    store.ended(sampleSpan({ trace: 1, id: 11, tookMs: 139, status: "ok" }));
    // A request that handled a failure.
    store.ended(sampleSpan({ trace: 2, id: 21, startMs: 1, tookMs: 500 }));
    store.ended(sampleSpan({ trace: 2, id: 22, parent: 21, startMs: 2, tookMs: 5, status: "error" }));
    // A request that failed, and whose job is running.
    store.ended(sampleSpan({ trace: 3, id: 31, startMs: 2, tookMs: 5, status: "error" }));
    store.started(sampleSpan({ trace: 3, id: 32, parent: 31, startMs: 4, tookMs: null }));
    await store.flush();
    const { rows } = await list(store, {}, { sortBy: "duration" });
    expect(
      rows
        .map(({ facts }) => traceSummary(facts))
        .map(({ status, duration_ms, async_work }) => [...[status, duration_ms, async_work]]),
    ).toEqual([
      ["ok", 500, undefined],
      ["ok", 139, { until_ms: 1_620, errors: 1 }],
      ["error", 5, { until_ms: null, errors: 0 }],
    ]);
    expect(await numbers(store, { status: "error" })).toEqual([3]);
    expect(await numbers(store, { with_errors: true })).toEqual([3, 2, 1]);
    expect(await numbers(store, { min_duration_ms: 200 })).toEqual([2]);
    // The same span again, as after a resend, is counted once.
    store.ended(sampleSpan({ trace: 1, id: 12, parent: 11, startMs: 100, tookMs: 1_900, status: "error" }));
    await store.flush();
    const again = await list(store, { trace_id: traceIdOf(1) });
    expect(again.rows.map(({ facts }) => traceSummary(facts).async_work)).toEqual([{ until_ms: 2_000, errors: 1 }]);
  });

  it.each([
    ["error", [2]],
    ["-error", [3, 1]],
    ["error and service:Reports and duration>100ms", [2]],
    ["duration>=30ms and duration<30.001ms", [1]],
    ["duration>30ms", [2]],
    ["function:math::*", [1]],
    ["function!=math::*", [3, 2]],
    ["error or function:math::add", [2, 1]],
    ["error or status:pending or function:math::add", [3, 2, 1]],
    ["not (error or function:math::*)", [3]],
    ["(trigger:http or trigger:queue) and not attr.amount>41", [3]],
    ["attr.amount>41 or nothing", [1]],
    ["-disk", [3, 1]],
    ["name:POST* or (error disk full)", [2, 1]],
    [`trace:${traceIdOf(2)} or trace:0*1`, [2, 1]],
    // Masked values are not found, whatever the form of the query.
    ["attr.password:hunt*", []],
    ["attr.password:hunt* or attr.password:hunter2", []],
    ["not (attr.password:hunter2)", [3, 2, 1]],
  ])("are found by the query %s", async (query, expected) => {
    expect(await numbers(sharedTraces(), { query })).toEqual(expected);
    const counted = await traceHistogram(sharedTraces(), filtersOf({ query }), 1);
    expect(counted.total).toBe(expected.length);
  });

  it("are found by a query together with other filters", async () => {
    const store = sharedTraces();
    expect(await numbers(store, { query: "status:ok or status:error", status: "error" })).toEqual([2]);
    expect(await numbers(store, { query: "status:ok", status: "error" })).toEqual([]);
    expect(await numbers(store, { query: "duration>1ms", min_duration_ms: 100, max_duration_ms: 10_000 })).toEqual([2]);
    expect(await numbers(store, { query: "duration<100ms", min_duration_ms: 1 })).toEqual([1]);
    expect(await numbers(store, { query: "attr.amount:42", filters: [{ key: "service", value: "math" }] })).toEqual([
      1,
    ]);
  });

  it("are listed by trace, the newest first, with what the trace is like (gap 44)", async () => {
    const page = await list(sharedTraces());
    expect(page).toMatchObject({ total: 3, totalIsExact: true, next: undefined });
    expect(
      page.rows.map(({ facts }) => [facts.rootName, facts.service, statusOf(facts), facts.spanCount, facts.errorCount]),
    ).toEqual([
      ["queue orders", "svc", "pending", 1, 0],
      ["cron nightly", "Reports", "error", 1, 1],
      ["POST /Add", "svc", "ok", 2, 0],
    ]);
    expect(page.rows[2]?.facts).toMatchObject({
      services: ["math", "svc"],
      functionId: "math::add",
      triggerType: "http",
      partial: false,
    });
    expect(page.rows[2]?.spans.map(({ spanId }) => spanId)).toEqual([spanIdOf(11)]);
  });

  it.each([
    [{ trace_id: traceIdOf(2) }, [2]],
    [{ trace_ids: [traceIdOf(2), traceIdOf(3)] }, [3, 2]],
    [{ service_name: "MAT" }, [1]],
    [{ service_name: "report" }, [2]],
    [{ service_name: "nobody" }, []],
    [{ name: "post" }, [1]],
    [{ name: "math::add" }, []],
    [{ name: "math::add", search_all_spans: true }, [1]],
    [{ status: "error" }, [2]],
    [{ status: "ok" }, [1]],
    [{ status: "pending" }, [3]],
    [{ function_id: "math::add" }, [1]],
    [{ worker: "math" }, [1]],
    [{ worker: "w-1" }, [1]],
    [{ trigger_type: "queue" }, [3]],
    [{ min_duration_ms: 31 }, [2]],
    [{ max_duration_ms: 30 }, [1]],
    [{ start_time: 1_700_000_000_050 }, [3, 2]],
    [{ end_time: 1_700_000_000_050 }, [1]],
    [{ text: "disk full" }, [2]],
    [{ text: "GRÖSSTER auf" }, []],
    [{ text: "GRÖßter auf" }, [1]],
    [{ text: "nightly orders" }, []],
    [{ text: "swordfish" }, []],
    [{ text: traceIdOf(3) }, [3]],
    [{ attributes: [["amount", "42"]] }, [1]],
    [{ attributes: [["function_id", "math::add"]] }, [1]],
    [{ exclude_attributes: [["amount", "42"]] }, [3, 2]],
    [{ filters: [{ key: "amount", op: "gt", value: 41 }] }, [1]],
    [{ filters: [{ key: "amount", op: "lte", value: 41 }] }, []],
    [{ filters: [{ key: "amount", op: "not_exists" }] }, [3, 2]],
    [{ filters: [{ key: "empty", op: "exists" }] }, [1]],
    [{ filters: [{ key: "amount", op: "not_equals", value: 42 }] }, [3, 2]],
    [{ filters: [{ key: "function_id", op: "contains", value: "MATH" }] }, [1]],
    [{ filters: [{ key: "quoted", op: "contains", value: 'Say "H' }] }, [2]],
    [{ filters: [{ key: "quoted", op: "contains", value: 'y "hÉ' }] }, [2]],
    [{ filters: [{ key: "quoted", op: "contains", value: "say" }] }, [2]],
    [{ filters: [{ key: "name", op: "contains", value: "NOWHERE" }] }, []],
    [{ filters: [{ key: "password", op: "equals", value: "hunter2" }] }, []],
    [{ filters: [{ key: "duration_ms", op: "gte", value: 30 }] }, [2, 1]],
    [{ filters: [{ key: "service", value: "Reports" }] }, [2]],
    [{ filters: [{ key: "name", op: "not_contains", value: "queue" }] }, [2, 1]],
    [{ filters: [{ key: "status", value: "pending" }] }, [3]],
    [{ service_name: "math", text: "post", status: "ok" }, [1]],
  ])("are found by %j (gap 44)", async (filters, expected) => {
    expect(await numbers(sharedTraces(), filters)).toEqual(expected);
  });

  it("are counted for every function that one of their spans ran, as the filter finds them", async () => {
    const store = newStore();
    const ran = (trace: number, id: number, functionId: string, more: object = {}): void =>
      store.ended(sampleSpan({ trace, id, startMs: id, attributes: { "svc.function_id": functionId }, ...more }));
    ran(1, 1, "math::add");
    ran(1, 2, "state::set", { parent: 1 });
    ran(1, 3, "state::set", { parent: 1 });
    await store.flush();
    ran(1, 4, "math::log", { parent: 1 });
    ran(2, 5, "orders::sum");
    ran(2, 6, "math::add", { parent: 5 });
    const { facets } = await traceFacets(store, schemaOf(traceFiltersSchema).parse({}), ["function_id"]);
    expect(facets.function_id).toEqual([
      { value: "math::add", count: 2 },
      { value: "math::log", count: 1 },
      { value: "orders::sum", count: 1 },
      { value: "state::set", count: 1 },
    ]);
    for (const { value, count } of facets.function_id ?? [])
      expect((await list(store, { function_id: value })).total).toBe(count);
  });

  it.each([
    ["start_time", [1, 2, 3]],
    ["duration", [3, 1, 2]],
    ["name", [2, 1, 3]],
    ["spans", [2, 3, 1]],
  ] as const)("are sorted by %s", async (sortBy, expected) => {
    expect(await numbers(sharedTraces(), {}, { sortBy, descending: false })).toEqual(expected);
    expect(await numbers(sharedTraces(), {}, { sortBy, descending: true })).toEqual(
      sortBy === "spans" ? [1, 3, 2] : [...expected].reverse(),
    );
  });

  it.each([{}, { text: "span" }, { filters: [{ key: "n", op: "gte", value: 0 }] }])(
    "come page by page, each trace once, while new ones come: %j",
    async (filters) => {
      const store = newStore();
      for (let n = 0; n < 25; n += 1)
        store.ended(sampleSpan({ trace: n + 1, id: n + 1, startMs: Math.floor(n / 5), attributes: { n } }));
      const seen: string[] = [];
      let after: TraceListRequest["after"];
      do {
        const page = await list(store, filters, { limit: 10, after });
        seen.push(...page.rows.map(({ facts }) => facts.traceId));
        after = page.next;
        store.ended(sampleSpan({ trace: 1_000 + seen.length, id: 1, startMs: 1_000, attributes: { n: 1 } }));
      } while (after !== undefined);
      expect(new Set(seen).size).toBe(25);
      expect(seen).toHaveLength(25);
      let page = await list(store, filters, { limit: 10, offset: 20 });
      let rest = page.rows.length;
      // A search that takes long returns a short page.
      while (page.next !== undefined) {
        page = await list(store, filters, { limit: 10, after: page.next });
        rest += page.rows.length;
      }
      expect(rest).toBe(8);
    },
  );

  it("of the engine's own working are listed only when asked for", async () => {
    const store = newStore();
    store.ended(sampleSpan({ id: 1, internal: true }));
    expect(await list(store)).toMatchObject({ rows: [], total: 0 });
    expect(await list(store, { include_internal: true })).toMatchObject({ total: 1 });
  });

  it("that run are pending, and then as they ended", async () => {
    const store = newStore();
    const running = { ...sampleSpan({ id: 1, tookMs: null }) };
    store.started(running);
    expect((await store.span(traceIdOf(1), spanIdOf(1)))?.endUnixNano).toBeUndefined();
    store.ended(
      Object.assign(running, { endUnixNano: running.startUnixNano + 7_000_000n, attributes: { done: true } }),
    );
    const { rows } = await list(store, { attributes: [["done", "true"]] });
    expect(rows.map(({ facts }) => [statusOf(facts), facts.spanCount, facts.pendingCount])).toEqual([["ok", 1, 0]]);
    expect(await numbers(store, { status: "pending" })).toEqual([]);
  });

  it("of one id are one span: the last counts", async () => {
    const store = newStore();
    store.ended(sampleSpan({ id: 1, status: "error", attributes: { first: 1 } }));
    await store.flush();
    store.ended(sampleSpan({ id: 1, name: "again", attributes: { second: 1 } }));
    store.ended(sampleSpan({ id: 1, name: "and again", attributes: { third: 1 } }));
    const { rows } = await list(store);
    expect(rows.map(({ facts }) => [facts.rootName, facts.spanCount, facts.errorCount])).toEqual([["and again", 1, 0]]);
    expect(await numbers(store, { filters: [{ key: "first", op: "exists" }] })).toEqual([]);
    expect(await store.spansOf(traceIdOf(1))).toHaveLength(1);
  });

  it("without a root are listed by the earliest of them, until a late root comes", async () => {
    const store = newStore();
    store.ended(sampleSpan({ id: 3, parent: 2, startMs: 9 }));
    store.ended(sampleSpan({ id: 2, parent: 1, startMs: 5 }));
    expect((await list(store)).rows[0]?.facts).toMatchObject({ rootName: "span 2", partial: true });
    store.ended(sampleSpan({ id: 1, startMs: 7, name: "late" }));
    expect((await list(store)).rows[0]?.facts).toMatchObject({
      rootName: "late",
      partial: false,
      startUs: 1_700_000_000_005_000,
    });
  });

  it("keep times of any size to the nanosecond (gap 49)", async () => {
    const store = newStore();
    const yearOne = -62_135_596_800_000_000_000n;
    const last = 2n ** 63n;
    store.ended(sampleSpan({ trace: 1, id: 1, startUnixNano: yearOne, endUnixNano: last }));
    store.ended(sampleSpan({ trace: 2, id: 2, startUnixNano: last, endUnixNano: last - 1n }));
    store.ended(sampleSpan({ trace: 3, id: 3, startUnixNano: 1_700_000_000_000_000_001n }));
    expect(await numbers(store)).toEqual([2, 3, 1]);
    expect(await store.spansOf(traceIdOf(1))).toMatchObject([{ startUnixNano: yearOne, endUnixNano: last }]);
    expect((await store.span(traceIdOf(3), spanIdOf(3)))?.startUnixNano).toBe(1_700_000_000_000_000_001n);
    expect(await numbers(store, { min_duration_ms: 1.5 })).toEqual([1]);
  });

  it("show nothing that is to be hidden", async () => {
    const [span] = (await sharedTraces().spansOf(traceIdOf(1))).filter(({ name }) => name === "math::add");
    expect(span?.attributes).toMatchObject({ amount: 42, password: "***" });
    expect(JSON.stringify(span?.events.map(({ attributes }) => attributes))).not.toContain("swordfish");
  });

  it("hold keys and values that mean something to JavaScript and to SQL", async () => {
    const store = newStore();
    const attributes = JSON.parse(
      '{"__proto__":"x","constructor":"y","a\\u0000b":"\'; DROP TABLE spans; --","%":"\\\\"}',
    ) as Record<string, string>;
    store.ended(sampleSpan({ id: 1, attributes }));
    for (const [key, value] of Object.entries(attributes))
      expect(await numbers(store, { attributes: [[key, value]] })).toEqual([1]);
    expect(await numbers(store, { filters: [{ key: "toString", op: "exists" }] })).toEqual([]);
    expect(await numbers(store, { text: '" OR NEAR( * drop' })).toEqual([]);
    expect(await numbers(store, { text: "drop - tab" })).toEqual([1]);
    expect(await numbers(store, { name: "%" })).toEqual([]);
  });

  it("are gone after clear, and new ones are kept", async () => {
    const store = threeTraces(newStore());
    await store.clear();
    expect(await numbers(store)).toEqual([3].slice(store.storage === "memory" ? 0 : 1));
    store.ended(sampleSpan({ trace: 9, id: 9, startMs: 500 }));
    expect((await numbers(store))[0]).toBe(9);
    expect(await store.stats()).toMatchObject({ stored: 1 });
  });

  it("are counted without reading pages of traces, with the same result", async () => {
    const store = newStore();
    for (let id = 1; id <= 500; id += 1)
      store.ended(
        sampleSpan({
          ...{ trace: Math.floor(id / 2), id, startMs: id, tookMs: id % 50 === 0 ? null : id % 40 },
          ...{ service: `s${id % 3}`, status: id % 24 === 0 ? "error" : "ok" },
          attributes: { "svc.function_id": `f::${id % 4}`, ...(id % 5 === 0 ? { "svc.trigger.type": "http" } : {}) },
        }),
      );
    const reader = readerOf(store);
    const pages: SpanReader = { ...reader, scan: (scan, onRow) => scanPages(reader, scan, onRow) };
    const counted: SpanReader = {
      ...readerOf(store),
      scan: store.scan.bind(store),
      ...(store.tally === undefined ? {} : { tally: store.tally.bind(store) }),
    };
    store.list = () => Promise.reject(new Error("a page was read"));
    for (const wanted of [
      {},
      { status: "error" },
      { min_duration_ms: 10, start_time: Number(BASE) / 1e6 + 200 },
      { name: "span 1", service_name: "S1" },
    ]) {
      const filters = schemaOf(traceFiltersSchema).parse(wanted);
      const names = ["status", "service", "function_id", "trigger_type"];
      const facets = await traceFacets(pages, filters, names);
      expect(facets.total).toBeGreaterThan(0);
      expect(await traceFacets(counted, filters, names)).toEqual(facets);
      expect(await traceHistogram(counted, filters, 12)).toEqual(await traceHistogram(pages, filters, 12));
    }
  });
});

function readerOf(store: SpanStore): Omit<SpanReader, "scan"> {
  return {
    storage: store.storage,
    list: store.list.bind(store),
    spansOf: store.spansOf.bind(store),
    span: store.span.bind(store),
  };
}
