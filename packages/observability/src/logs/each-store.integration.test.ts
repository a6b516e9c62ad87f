import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger, systemClock } from "@svc-runtime/engine/module";
import { openStore } from "@svc-runtime/engine/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { LogRecord } from "../telemetry-records.ts";
import { DiskLogs } from "./disk-logs.ts";
import { NO_FILTER } from "./log-filter.ts";
import { logFilterOf } from "./log-filter-input.ts";
import { cursorOf, LogQueries, positionIn } from "./log-queries.ts";
import type { LogStore } from "./log-store.ts";
import { MemoryLogs } from "./memory-logs.ts";
import { logRecord, START_MS } from "./testing/records.ts";

const opened: LogStore[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store.stop();
});

const STORES = {
  memory: async () =>
    new MemoryLogs({ clock: systemClock, limits: { maxCount: 200_000, maxBytes: 1e9, maxAgeMs: undefined } }),
  disk: () =>
    DiskLogs.open({
      file: join(mkdtempSync(join(tmpdir(), "svc-logs-")), "observability", "logs.db"),
      clock: systemClock,
      log: silentLogger,
      drops: { dropped: (signal, reason, count) => expect.unreachable(`${signal} ${reason} ${count}`) },
      openStore,
      redact: (shown) => shown,
      limits: { maxBytes: 1e9, maxAgeMs: 1e15 },
    }),
} as const;

describe.each(Object.entries(STORES))("log entries in %s", (_name, make) => {
  async function storeOf(
    records: readonly LogRecord[],
  ): Promise<{ readonly store: LogStore; readonly queries: LogQueries }> {
    const store: LogStore = await make();
    opened.push(store);
    return { store, queries: filled(store, records) };
  }
  function filled(store: LogStore, records: readonly LogRecord[]): LogQueries {
    for (const [index, log] of records.entries()) store.add({ id: index + 1, log });
    return new LogQueries({ store, clock: systemClock });
  }

  /** One store for all tests of a filter, which only read it. */
  let shared: LogStore | undefined;
  let sharedQueries: LogQueries | undefined;
  afterAll(() => shared?.stop());
  async function fourEntries(): Promise<LogQueries> {
    shared ??= await make();
    sharedQueries ??= filled(shared, [
      logRecord({ body: "here", service: "till", attributes: { note: "a zero\0character" } }),
      logRecord({
        body: "warn",
        severityNumber: 14,
        attributes: { "svc.function_id": "pay::now", note: "Karte Ödön" },
        atMs: 1,
      }),
      logRecord({ body: "info", traceId: "aa".repeat(16), spanId: "bb".repeat(8), atMs: 2 }),
      logRecord({
        body: "fatal",
        severityNumber: 24,
        attributes: { function_id: "pay::now", amount: "12.5" },
        resource: { service: "till", workerId: "id-1", attributes: { region: "eu" } },
        atMs: 3,
      }),
    ]);
    return sharedQueries;
  }
  const page = async (queries: LogQueries, input: Parameters<typeof logFilterOf>[0], limit = 100): Promise<string[]> =>
    (await queries.page({ filter: logFilterOf(input), order: "desc", limit })).entries.map(({ log }) => log.body);

  it("come back as they were", async () => {
    const log = logRecord({
      atMs: 0.000_001,
      severityNumber: 21,
      body: "\u001b[31mred\u0000\u202e",
      attributes: { n: 1, nested: { a: [1, "x", null] }, ok: true, "svc.function_id": "a::b" },
      traceId: "a".repeat(32),
      spanId: "b".repeat(16),
      resource: { service: "shop", workerId: "w1", attributes: { region: "eu" } },
      scopeName: "scope",
      scopeVersion: "1",
    });
    const { store, queries } = await storeOf([log]);
    expect(await store.get(1)).toEqual({ id: 1, log });
    expect((await queries.page({ filter: NO_FILTER, order: "desc", limit: 1 })).entries).toEqual([{ id: 1, log }]);
    expect(await store.get(2)).toBeUndefined();
  });

  it("are listed by time, whatever the clocks of their writers say and in which order they came", async () => {
    const { queries } = await storeOf([
      logRecord({ body: "now", atMs: 5 }),
      logRecord({ body: "behind", atMs: -3_600_000 }),
      logRecord({ body: "just before", atMs: 4.999_999 }),
      logRecord({ body: "ahead", atMs: 3_600_000 }),
      logRecord({ body: "same time", atMs: 5 }),
      logRecord({ body: "1970", timeUnixNano: 0n }),
      logRecord({ body: "2554", timeUnixNano: 2n ** 64n - 1n }),
    ]);
    const newestFirst = ["2554", "ahead", "same time", "now", "just before", "behind", "1970"];
    expect(await page(queries, {})).toEqual(newestFirst);
    const oldestFirst = await queries.page({ filter: NO_FILTER, order: "asc", limit: 100 });
    expect(oldestFirst.entries.map(({ log }) => log.body)).toEqual([...newestFirst].reverse());
    expect(await page(queries, { start_time: START_MS + 4.999_5, end_time: START_MS + 5 })).toEqual([
      "same time",
      "now",
      "just before",
    ]);
    expect(await page(queries, { start_time: START_MS + 5, end_time: START_MS + 5.5 })).toEqual(["same time", "now"]);
    expect(await page(queries, { start_time: -1e300, end_time: START_MS - 1 })).toEqual(["behind", "1970"]);
  });

  it.each([
    ["severity_min", { severity_min: 13 }, ["fatal", "warn"]],
    ["a level in any case", { severity_text: "Warn" }, ["warn"]],
    ["levels", { levels: ["INFO", "warn"] }, ["info", "warn", "here"]],
    ["a level and levels", { levels: ["info"], severity_text: "warn" }, []],
    ["ERROR, which fatal is", { severity_text: "ERROR" }, ["fatal"]],
    ["FATAL", { levels: ["FATAL"] }, ["fatal"]],
    ["no level that there is", { severity_text: "shout" }, []],
    ["a trace", { trace_id: "AA".repeat(16) }, ["info"]],
    ["a span", { span_id: "bb".repeat(8) }, ["info"]],
    ["services", { services: ["till"] }, ["fatal", "here"]],
    ["a worker by name", { worker: "shop" }, ["info", "warn"]],
    ["a worker by id", { worker: "id-1" }, ["fatal"]],
    ["a function", { function_id: "pay::now" }, ["fatal", "warn"]],
    ["text of the body in any case", { text: "HER" }, ["here"]],
    ["text of an attribute", { text: "karte ö" }, ["warn"]],
    ["text too short for an index", { text: "Ö" }, ["warn"]],
    ["text with a zero character", { text: "zero\0" }, ["here"]],
    ["text with quotes", { text: 'a "b"' }, []],
    ["a regular expression", { regex: "^(info|w.+)$" }, ["info", "warn"]],
    [
      "an attribute by its published name",
      { filters: [{ key: "function_id", op: "equals" as const, value: "pay::now" }] },
      ["fatal", "warn"],
    ],
    ["a number", { filters: [{ key: "amount", op: "gte" as const, value: 10 }] }, ["fatal"]],
    ["a resource", { filters: [{ key: "resource.region", op: "equals" as const, value: "eu" }] }, ["fatal"]],
    ["a field", { filters: [{ key: "severity_text", op: "not_equals" as const, value: "INFO" }] }, ["fatal", "warn"]],
    ["not a service", { exclude: { services: ["till"] } }, ["info", "warn"]],
    ["a query of members", { query: "error and function:pay::now attr.amount>=10" }, ["fatal"]],
    ["a query with alternatives", { query: "level:info and trace:* or message:wa*" }, ["info", "warn"]],
    ["a negated query", { query: "not (service:till or level:warn)" }, ["info"]],
    ["a negated comparison", { query: "-attr.amount>10 -her" }, ["info", "warn"]],
    ["a regular expression in a query", { query: "/^(info|w.+)$/ -level:info" }, ["warn"]],
    [
      "a query with other members",
      { query: "level:error level:warn service:till", levels: ["ERROR"], services: ["shop", "till"] },
      ["fatal"],
    ],
    ["a query against other members", { query: "level:warn worker:shop", levels: ["ERROR"], worker: "id-1" }, []],
    ["not a text", { exclude: { text: "INF" } }, ["fatal", "warn", "here"]],
  ])("are found by %s", async (_what, filter, expected) => {
    const queries = await fourEntries();
    expect((await page(queries, filter)).sort()).toEqual([...expected].sort());
    const { tally } = await queries.tally(logFilterOf(filter));
    expect(tally.total).toBe(expected.length);
  });

  it("are paged by cursor without a hole while more come, and by offset", async () => {
    const { store, queries } = await storeOf(
      Array.from({ length: 5_000 }, (_, index) => logRecord({ body: String(index), atMs: Math.floor(index / 7) })),
    );
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const { entries, next, total } = await queries.list({
        filter: NO_FILTER,
        order: "desc",
        limit: 1_700,
        skip: 0,
        after: positionIn("desc", cursor),
      });
      seen.push(...entries.map(({ log }) => log.body));
      if (cursor === null) expect(total).toBe(5_000);
      cursor = cursorOf("desc", next);
      store.add({ id: 10_000 + seen.length, log: logRecord({ body: "new", atMs: 1e6 }) });
    } while (cursor !== null);
    expect(seen).toEqual(Array.from({ length: 5_000 }, (_, index) => String(4_999 - index)));
    const { entries } = await queries.list({
      filter: logFilterOf({ exclude: { text: "new" } }),
      order: "desc",
      limit: 2,
      skip: 3,
      after: undefined,
    });
    expect(entries.map(({ log }) => log.body)).toEqual(["4996", "4995"]);
  });

  it("are counted by facets and by time over all matches", async () => {
    const { queries } = await storeOf(
      Array.from({ length: 3_000 }, (_, index) =>
        logRecord({
          service: index % 3 === 0 ? "till" : "shop",
          severityNumber: index % 2 === 0 ? 9 : 17,
          attributes: { shelf: index % 5 },
          atMs: index,
        }),
      ),
    );
    const { tally } = await queries.tally(NO_FILTER, {
      facets: ["level", "service", "shelf", "constructor"],
      histogram: { startMs: START_MS, endMs: START_MS + 3_000, buckets: 3 },
    });
    expect(Object.fromEntries(tally.facets.get("level") ?? [])).toEqual({ INFO: 1_500, ERROR: 1_500 });
    expect(Object.fromEntries(tally.facets.get("service") ?? [])).toEqual({ till: 1_000, shop: 2_000 });
    expect(Object.fromEntries(tally.facets.get("shelf") ?? [])).toEqual({ 0: 600, 1: 600, 2: 600, 3: 600, 4: 600 });
    expect(tally.facets.get("constructor")?.size).toBe(0);
    expect(tally.histogram).toEqual([0, 1, 2].map(() => [0, 0, 500, 0, 500]));
  });

  it("are shown with their neighbours", async () => {
    const { queries } = await storeOf(
      Array.from({ length: 9 }, (_, index) => logRecord({ body: String(index), atMs: index })),
    );
    const { entries, moreBefore, moreAfter } = await queries.around(5, { before: 2, after: 50 });
    expect(entries.map(({ log }) => log.body)).toEqual(["8", "7", "6", "5", "4", "3", "2"]);
    expect({ moreBefore, moreAfter }).toEqual({ moreBefore: true, moreAfter: false });
    await expect(queries.around(99, { before: 1, after: 1 })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("are gone after they were cleared", async () => {
    const { store, queries } = await storeOf([logRecord(), logRecord({ body: "needle" })]);
    await store.clear();
    expect(await page(queries, {})).toEqual([]);
    expect(store.stats()).toMatchObject({ stored: 0 });
    store.add({ id: 3, log: logRecord({ body: "a needle again" }) });
    expect(await page(queries, { text: "needle" })).toEqual(["a needle again"]);
  });

  it("are not searched indefinitely by a hostile regular expression", async () => {
    const { queries } = await storeOf([logRecord({ body: `${"a".repeat(5_000)}!` })]);
    await expect(page(queries, { regex: "^(a+)+$" })).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("takes too long"),
    });
    expect(await page(queries, { regex: "a!$" })).toHaveLength(1);
    expect(() => logFilterOf({ regex: "(" })).toThrow(expect.objectContaining({ code: "invalid_input" }));
  });
});

describe("100,000 log entries in memory", () => {
  it("are searched while others have their turn", async () => {
    const store = new MemoryLogs({
      clock: systemClock,
      limits: { maxCount: 100_000, maxBytes: 1e9, maxAgeMs: undefined },
    });
    for (let id = 1; id <= 100_000; id++)
      store.add({ id, log: logRecord({ body: `order ${id} was packed`, atMs: id, attributes: { shelf: id % 10 } }) });
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    count();
    const queries = new LogQueries({ store, clock: systemClock });
    const found = await queries.list({
      filter: logFilterOf({ text: "9999 was" }),
      order: "desc",
      limit: 50,
      skip: 0,
      after: undefined,
    });
    isDone = true;
    expect(found.total).toBe(10);
    expect(found.entries).toHaveLength(10);
    expect(turns).toBeGreaterThan(40);
  });
});
