import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLogger, type LogRecord, schemaOf, systemClock } from "@svc-runtime/engine/module";
import { openDatabase } from "@svc-runtime/engine/store";
import { manualClock, openStore } from "@svc-runtime/engine/testing";
import { SecretMask } from "@svc-runtime/protocol";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { SpanStore } from "../span-store.ts";
import { BASE, sampleSpan, spanIdOf, traceIdOf } from "../testing/sample-spans.ts";
import { durationUsOf, statusOf } from "../trace-facts.ts";
import { traceFiltersSchema } from "../trace-query.ts";
import { DiskSpanStore, type DiskSpanStoreParts } from "./disk-span-store.ts";

const root = mkdtempSync(join(tmpdir(), "svc-span-files-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const opened: DiskSpanStore[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

let folders = 0;
function freshFile(): string {
  folders += 1;
  return join(root, String(folders), "spans.db");
}

const NO_LIMITS = { maxBytes: 1e9, retentionMs: 1e9, keepSlowMs: 1_000 };

function open(file: string, parts: Partial<DiskSpanStoreParts> = {}): DiskSpanStore {
  const log = createLogger({ level: "error", now: () => 0, write: () => {} });
  const drops = { dropped: () => {} };
  const defaults = { limits: NO_LIMITS, log, clock: systemClock, drops, redactor: () => new SecretMask([]), openStore };
  const store = new DiskSpanStore({ file, ...defaults, ...parts });
  opened.push(store);
  return store;
}

async function list(store: SpanStore, filters: Record<string, unknown> = {}) {
  const request = {
    ...({ sortBy: "start_time", descending: false, offset: 0, limit: 1_000, spans: "none" } as const),
    filters: schemaOf(traceFiltersSchema).parse(filters),
  };
  const page = await store.list({ ...request, after: undefined });
  const rows = [...page.rows];
  // A search that takes long ends with a short page.
  for (let { next } = page; next !== undefined; ) {
    const following = await store.list({ ...request, after: next });
    rows.push(...following.rows);
    next = following.next;
  }
  return { ...page, rows };
}

async function roots(store: SpanStore, filters: Record<string, unknown> = {}): Promise<string[]> {
  return (await list(store, filters)).rows.map(({ facts }) => facts.rootName);
}

describe("spans on disk", () => {
  it("are there after a restart, and those that ran then are shown as interrupted (gap 44)", async () => {
    const file = freshFile();
    // The clock stands still, so the stop waits for the spans, however long the disk takes.
    const clock = manualClock();
    const before = open(file, { clock });
    before.ended(sampleSpan({ trace: 1, id: 1, attributes: { order: 7 } }));
    before.started(sampleSpan({ trace: 2, id: 2, tookMs: null }));
    await before.close();
    const after = open(file, { clock });
    expect(await roots(after, { attributes: [["order", "7"]] })).toEqual(["span 1"]);
    const { rows } = await list(after);
    expect(rows.map(({ facts }) => statusOf(facts))).toEqual(["ok", "error"]);
    expect(await after.span(traceIdOf(2), spanIdOf(2))).toMatchObject({
      statusDescription: "the engine stopped before this span ended",
    });
  });

  it("are written a second after the first of them has ended, or after the time that the caller gives", async () => {
    const clock = manualClock();
    const store = open(freshFile(), { clock });
    const written = () => expect.poll(() => store.unwritten).toBe(0);
    store.ended(sampleSpan({ trace: 1, id: 1 }));
    clock.advance(1_000);
    await written();
    store.ended(sampleSpan({ trace: 2, id: 2 }), 5_000);
    clock.advance(4_900);
    expect(store.unwritten).toBe(1);
    clock.advance(100);
    await written();
  });

  it("of a file of an earlier version are there, with the function and the root's outcome that were known", async () => {
    const file = freshFile();
    const before = open(file);
    before.ended(sampleSpan({ trace: 1, id: 1, attributes: { "svc.function_id": "a::b" } }));
    before.ended(sampleSpan({ trace: 2, id: 2 }));
    before.ended(sampleSpan({ trace: 9, id: 9, startMs: 9, status: "error" }));
    await before.flush();
    await before.close();
    const database = openDatabase(file);
    database.exec("DROP INDEX traces_errors");
    for (const column of ["root_end_us", "root_status", "error_ends"])
      database.exec(`ALTER TABLE traces DROP COLUMN ${column}`);
    database.exec(`ALTER TABLE traces DROP COLUMN functions; DROP INDEX traces_kept; ALTER TABLE traces DROP COLUMN kept;
      ALTER TABLE totals DROP COLUMN kept_spans; CREATE INDEX traces_updated ON traces (updated_ms, no);
      PRAGMA user_version=1`);
    database.close();
    const after = open(file);
    after.ended(sampleSpan({ trace: 2, id: 3, parent: 2, attributes: { "svc.function_id": "c::d" } }));
    await after.flush();
    const { rows } = await list(after);
    expect(rows.map(({ facts }) => [facts.functions, statusOf(facts), durationUsOf(facts)])).toEqual([
      [["a::b"], "ok", 1_000],
      [["c::d"], "ok", 1_000],
      [[], "error", 1_000],
    ]);
    // The failed trace is known as one that is kept longer.
    await after.close();
    const migrated = openDatabase(file);
    expect(migrated.prepare("SELECT kept_spans FROM totals").get()).toEqual({ kept_spans: 1 });
    migrated.close();
  });

  it("are there after kill -9, but for the last second's (L-3)", async () => {
    const file = freshFile();
    const child = fork(fileURLToPath(new URL("../testing/writing-process.js", import.meta.url)), [file]);
    const [written] = (await once(child, "message")) as [number];
    child.kill("SIGKILL");
    await once(child, "exit");
    const store = open(file);
    const { total } = await list(store);
    expect(total).toBeGreaterThanOrEqual(written);
    expect(await store.stats()).toMatchObject({ stored: total });
  });

  it("go when they are older than the retention", async () => {
    const clock = manualClock();
    const store = open(freshFile(), { clock, limits: { ...NO_LIMITS, retentionMs: 60_000 } });
    for (const id of [1, 2]) store.ended(sampleSpan({ trace: id, id }));
    await store.flush();
    await clock.advance(59_000);
    store.ended(sampleSpan({ trace: 3, id: 3 }));
    await store.flush();
    await store.trim();
    expect(await roots(store)).toEqual(["span 1", "span 2", "span 3"]);
    await clock.advance(2_000);
    await store.trim();
    expect(await roots(store)).toEqual(["span 3"]);
    expect(await roots(store, { text: "span" })).toEqual(["span 3"]);
    expect(await store.stats()).toMatchObject({ stored: 1 });
  });

  it("stay when the wall clock is set forward by a year and back", async () => {
    const clock = manualClock();
    const store = open(freshFile(), { clock, limits: { ...NO_LIMITS, retentionMs: 60_000 } });
    store.ended(sampleSpan({ trace: 1, id: 1 }));
    await store.flush();
    const before = clock.now();
    clock.jumpTo(before + 365 * 86_400_000);
    await store.trim();
    clock.jumpTo(before);
    await store.trim();
    expect(await roots(store)).toEqual(["span 1"]);
    clock.advance(61_000);
    await store.trim();
    expect(await roots(store)).toEqual([]);
  });

  it("are held to the limit while they come, not only from time to time", async () => {
    const limits = { ...NO_LIMITS, maxBytes: 1024 * 1024 };
    const store = open(freshFile(), { clock: manualClock(), limits });
    for (let id = 1; id <= 1_500; id += 1)
      store.ended(sampleSpan({ trace: id, id, attributes: { filler: `${id} ${"x".repeat(1_000)}` } }));
    await store.flush();
    // The clock stands still, so only the written bytes trigger a check of the limits.
    await expect.poll(async () => (await store.stats()).bytes).toBeLessThanOrEqual(limits.maxBytes);
    expect(await store.stats()).toMatchObject({ unwritten: 0 });
  });

  it("are evicted when the limits shrink, and are masked with the current keys", async () => {
    let keys: string[] = [];
    const store = open(freshFile(), { redactor: () => new SecretMask(keys) });
    for (let id = 1; id <= 500; id += 1)
      store.ended(sampleSpan({ trace: id, id, attributes: { iban: "DE02", filler: `${id} ${"x".repeat(1_000)}` } }));
    await store.flush();
    expect((await store.stats()).bytes).toBeGreaterThan(512 * 1024);
    store.setLimits({ ...NO_LIMITS, maxBytes: 512 * 1024 });
    await store.trim();
    expect((await store.stats()).bytes).toBeLessThanOrEqual(512 * 1024);
    keys = ["iban"];
    expect((await store.span(traceIdOf(500), spanIdOf(500)))?.attributes.iban).toBe("***");
  });

  it("never take more room than they are given, whatever comes, and over a restart", async () => {
    const file = freshFile();
    const maxBytes = 1024 * 1024;
    let store = open(file, { limits: { ...NO_LIMITS, maxBytes } });
    for (let round = 0; round < 5; round += 1) {
      for (let n = 0; n < 250; n += 1) {
        const id = 250 * round + n;
        // One trace is as large as all others together.
        store.ended(
          sampleSpan({
            trace: n % 2 === 0 ? 1_000_000 : id,
            id,
            startMs: id,
            attributes: { filler: `${id} ${"x".repeat(1_000)}` },
          }),
        );
      }
      await store.flush();
      await store.trim();
      expect((await store.stats()).bytes).toBeLessThanOrEqual(maxBytes);
    }
    const kept = await roots(store);
    expect(kept).toContain("span 1249");
    expect(kept).not.toContain("span 1");
    await store.close();
    expect(statSync(file).size).toBeLessThan(2 * maxBytes);
    store = open(file, { limits: { ...NO_LIMITS, maxBytes: maxBytes / 2 } });
    await store.trim();
    expect((await store.stats()).bytes).toBeLessThanOrEqual(maxBytes / 2);
    const { rows } = await list(store);
    for (const { facts } of rows) expect(await store.spansOf(facts.traceId)).not.toHaveLength(0);
  });

  it("of failed and slow traces outlive others, in a quarter of the room", async () => {
    const maxBytes = 512 * 1024;
    const store = open(freshFile(), { limits: { ...NO_LIMITS, maxBytes } });
    const add = (id: number, more: Partial<Parameters<typeof sampleSpan>[0]> = {}): void =>
      store.ended(
        sampleSpan({ trace: id, id, startMs: id, attributes: { filler: `${id} ${"x".repeat(1_000)}` }, ...more }),
      );
    add(1, { status: "error" });
    add(2, { tookMs: 1_500 });
    add(3);
    // A trace that fails later is kept as well.
    add(4);
    add(100_004, { trace: 4, parent: 4, status: "error" });
    for (let id = 5; id <= 450; id += 1) add(id);
    await store.flush();
    await store.trim();
    expect((await roots(store)).slice(0, 4)).toEqual(["span 1", "span 2", "span 4", expect.stringMatching(/\d{3,}$/)]);
    for (let id = 1_001; id <= 1_450; id += 1) add(id, { status: "error" });
    for (let id = 1_451; id <= 1_550; id += 1) add(id);
    await store.flush();
    await store.trim();
    expect(await roots(store)).not.toContain("span 1");
    // Failed traces had all the room, and make way for others.
    expect(await roots(store, { start_time: Number(BASE) / 1e6 + 1_452 })).toHaveLength(100);
    expect((await store.stats()).bytes).toBeLessThanOrEqual(2 * maxBytes);
  });

  it("start empty when the file is damaged, which is renamed and logged (1.4)", async () => {
    const file = freshFile();
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, "this is no database, but it is long enough to be looked at as one".repeat(100));
    const logs: LogRecord[] = [];
    const store = open(file, {
      log: createLogger({ level: "error", now: () => 0, write: (record) => logs.push(record) }),
    });
    store.ended(sampleSpan({ id: 1 }));
    expect(await roots(store)).toEqual(["span 1"]);
    expect(readdirSync(join(file, "..")).some((name) => name.startsWith("spans.db.damaged-"))).toBe(true);
    expect(logs.map(({ level, message }) => [level, message])).toEqual([
      ["error", "the span file cannot be opened; it was renamed and a new one created"],
    ]);
  });

  it("are dropped and counted when there is no room for a file, and nothing fails but their queries", async () => {
    const blocked = join(root, "blocked");
    writeFileSync(blocked, "");
    const dropped: [string, number][] = [];
    const store = open(join(blocked, "spans.db"), {
      drops: { dropped: (_, reason, count) => void dropped.push([reason, count]) },
    });
    store.ended(sampleSpan({ id: 1 }));
    await expect(list(store)).rejects.toThrow("blocked");
    expect(dropped).toEqual([["disk_unavailable", 1]]);
    await store.close();
    expect(existsSync(join(blocked, "spans.db"))).toBe(false);
  });

  it("wait in a bounded queue: what is over is dropped and counted", () => {
    const counts = new Map<string, number>();
    const drops = {
      dropped: (_: string, reason: string, count: number) => void counts.set(reason, (counts.get(reason) ?? 0) + count),
    };
    const store = open(freshFile(), { drops });
    for (let id = 0; id < 25_000; id += 1) store.ended(sampleSpan({ trace: id % 10, id }));
    store.ended(sampleSpan({ id: 1, size: 2_000_000 }));
    expect(Object.fromEntries(counts)).toEqual({ disk_queue_full: 5_000, span_too_large: 1 });
  });
});
