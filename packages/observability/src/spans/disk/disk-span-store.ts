import { setImmediate as nextTurn } from "node:timers/promises";
import { ageClock, type Clock, every, type Logger, type OpenStore, type Store } from "@svc-runtime/engine/module";
import type { SecretMask } from "@svc-runtime/protocol";
import type { DropCounter, SpanRecord } from "../../telemetry-records.ts";
import { MAX_SPAN_BYTES } from "../memory/memory-span-store.ts";
import { redactSpan } from "../redact-span.ts";
import {
  bySpanStart,
  MAX_READ_SPANS,
  type SpanStore,
  type SpanStoreStats,
  scanPages,
  type TracePage,
  type TraceRow,
  type TraceScan,
  type TraceTally,
} from "../span-store.ts";
import type { FacetValues } from "../trace-facets.ts";
import { isDecidedByFacts } from "../trace-match.ts";
import type { TraceFilters, TraceListRequest } from "../trace-query.ts";
import { openSpanFile } from "./open-span-file.ts";
import type { SpanProcedures } from "./procedures.ts";
import { readSpan, writeSpan } from "./span-json.ts";
import { SpanQueue } from "./span-queue.ts";
import type { Combination, TallySlice } from "./tally-traces.ts";
import { factsOf } from "./trace-rows.ts";
import type { WriteTime } from "./write-spans.ts";

/** Spans are written after this time, in milliseconds. A caller may set a longer time. */
const FLUSH_MS = 1_000;
/** Spans are also written when this number of them is queued. */
const FLUSH_SPANS = 2_000;
/** Maximum number of spans that are serialized in one turn of the event loop and written in one transaction. */
const STEP_SPANS = 200;
/** Interval of the checks for spans over the limits, in milliseconds. */
const TRIM_EVERY_MS = 30_000;
/** Maximum number of spans that one step of a removal deletes. */
const TRIM_SPANS = 500;
/** Maximum time that a stop waits for pending writes, in milliseconds. */
const STOP_FLUSH_MS = 2_000;
/** A check runs early when this share of the maximum size was written since the last check. */
const TRIM_AFTER_SHARE = 1 / 32;
const EVERYTHING = Number.MAX_SAFE_INTEGER;

export interface DiskSpanLimits {
  /** Maximum size of the file without its free pages, in bytes. */
  readonly maxBytes: number;
  readonly retentionMs: number;
  /**
   * Minimum duration of slow traces, in milliseconds. Slow and failed traces are stored longer than others. With 0, no
   * trace is slow.
   */
  readonly keepSlowMs: number;
}

export interface DiskSpanStoreParts {
  /** Absolute path. Its folder is created. */
  readonly file: string;
  readonly limits: DiskSpanLimits;
  readonly log: Logger;
  /** Clock by which the age of spans is determined. */
  readonly clock: Clock;
  readonly drops: DropCounter;
  readonly openStore: OpenStore;
  /** Returns the secret mask of the current config. */
  readonly redactor: () => SecretMask;
  /** If set, the file is opened when spans are first written or read. Otherwise it is opened at once. */
  readonly opens?: "when needed";
}

/**
 * Stores spans on disk, so that they survive restarts. A span is written about a second after it ended. A query first
 * writes the queued spans, so that it finds them. Secrets are masked before spans are written. The file is opened in
 * the background. Until it is open, spans wait in a queue of limited size.
 */
export class DiskSpanStore implements SpanStore {
  readonly storage = "disk";
  readonly #parts: DiskSpanStoreParts;
  readonly #ageNow: () => number;
  readonly #queue = new SpanQueue();
  #opened: Promise<Store<SpanProcedures>> | undefined;
  readonly #stopTrimming: () => void;
  #cancelFlush: (() => void) | undefined;
  #flushing: Promise<void> | undefined;
  #trimming: Promise<void> | undefined;
  #isClosed = false;
  #isUnusable = false;
  #limits: DiskSpanLimits;
  /** Number of spans that were taken from the queue and are not on disk yet. */
  #inFlight = 0;
  #untrimmedBytes = 0;

  constructor(parts: DiskSpanStoreParts) {
    this.#parts = parts;
    this.#ageNow = ageClock(parts.clock);
    this.#limits = parts.limits;
    if (parts.opens === undefined) void this.#file().catch(() => {});
    this.#stopTrimming = every(parts.clock, TRIM_EVERY_MS, () => this.#trimInBackground());
  }

  /** Changes the limits. Spans over the new limits are removed in the background. */
  setLimits(limits: DiskSpanLimits): void {
    this.#limits = limits;
    this.#trimInBackground();
  }

  /** True if a span is running and its start was received. */
  get hasPending(): boolean {
    return this.#queue.hasPending;
  }

  /** Returns true if the span is running and its start was received. */
  isPending(span: SpanRecord): boolean {
    return this.#queue.isPending(span);
  }

  started(span: SpanRecord, flushMs = FLUSH_MS): void {
    this.#queue.started(span);
    this.#scheduleFlush(flushMs);
  }

  ended(span: SpanRecord, flushMs = FLUSH_MS): void {
    const size = span.size;
    if (size > MAX_SPAN_BYTES) this.#parts.drops.dropped("spans", "span_too_large", 1);
    else if (!this.#queue.ended(span, size)) this.#parts.drops.dropped("spans", "disk_queue_full", 1);
    if (this.#queue.count >= FLUSH_SPANS) this.#flushInBackground();
    else this.#scheduleFlush(flushMs);
  }

  async list(request: TraceListRequest): Promise<TracePage> {
    const store = await this.#flushedStore();
    const { rows, ...rest } = await store.call("list", request);
    const shown = this.#decoder();
    return {
      ...rest,
      rows: rows.map(({ row, spans }) => ({
        facts: factsOf(row),
        spans: spans.map(shown).sort(bySpanStart),
        tie: row.no,
      })),
    };
  }

  scan(request: TraceScan, onRow: (row: TraceRow) => void): Promise<boolean> {
    return scanPages(this, request, onRow);
  }

  async tally(filters: TraceFilters, max: number): Promise<TraceTally | undefined> {
    if (!isDecidedByFacts(filters)) return undefined;
    const store = await this.#flushedStore();
    const tally = { combinations: [], starts: [], failedStarts: [], durations: [] } as {
      readonly combinations: { readonly values: FacetValues; readonly count: number }[];
      readonly starts: number[];
      readonly failedStarts: number[];
      readonly durations: number[];
    };
    let before: number | undefined;
    do {
      const slice: TallySlice = await store.call("tally", { filters, before });
      for (const each of slice.combinations) tally.combinations.push({ values: valuesOf(each), count: each.count });
      for (const us of slice.startsUs) tally.starts.push(us / 1_000);
      for (const us of slice.failedStartsUs) tally.failedStarts.push(us / 1_000);
      for (const us of slice.durationsUs) tally.durations.push(us / 1_000);
      before = slice.next;
    } while (before !== undefined && tally.starts.length < max);
    return { ...tally, exact: before === undefined };
  }

  async spansOf(traceId: string): Promise<readonly SpanRecord[]> {
    const store = await this.#flushedStore();
    const texts = await store.call("spansOf", { traceId, limit: MAX_READ_SPANS });
    const shown = this.#decoder();
    const spans: SpanRecord[] = [];
    for (const [index, text] of texts.entries()) {
      if (index % FLUSH_SPANS === FLUSH_SPANS - 1) await nextTurn();
      spans.push(shown(text));
    }
    return spans.sort(bySpanStart);
  }

  async span(traceId: string, spanId: string): Promise<SpanRecord | undefined> {
    const store = await this.#flushedStore();
    const text = await store.call("span", { traceId, spanId });
    return text === undefined ? undefined : this.#decoder()(text);
  }

  async clear(): Promise<void> {
    await this.flush();
    await this.#remove({ beforeMs: EVERYTHING, maxBytes: 0 });
  }

  async stats(): Promise<SpanStoreStats> {
    const store = await this.#file();
    const { spans, usedBytes, fileBytes, oldestUs } = await store.call("stats", null);
    const { unwritten } = this;
    const oldestMs = oldestUs === undefined ? undefined : oldestUs / 1_000;
    return {
      stored: spans + unwritten,
      limit: undefined,
      bytes: usedBytes,
      maxBytes: this.#limits.maxBytes,
      diskBytes: fileBytes,
      oldestMs,
      // The file has no record of evictions, so this is the start of the oldest span.
      completeSinceMs: oldestMs,
      unwritten,
    };
  }

  /** True if the file could not be opened. */
  get isUnusable(): boolean {
    return this.#isUnusable;
  }

  /** Number of received spans that are not on disk yet. */
  get unwritten(): number {
    return this.#queue.count + this.#inFlight;
  }

  /** True if the file was opened, because spans were written or read. */
  get isOpened(): boolean {
    return this.#opened !== undefined;
  }

  /** Writes the queued spans. Rejects only if the file cannot be used at all. */
  async flush(): Promise<void> {
    // A running write may have begun before the newest span arrived, so it is awaited and another one follows.
    while (this.#flushing !== undefined) await this.#flushing;
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    this.#flushing = this.#write().finally(() => {
      this.#flushing = undefined;
    });
    await this.#flushing;
  }

  /** Removes the spans over the limits. It works in steps, so that other requests run in between. */
  async trim(): Promise<void> {
    while (this.#trimming !== undefined) await this.#trimming;
    const { maxBytes, retentionMs } = this.#limits;
    const limits = { beforeMs: this.#ageNow() - retentionMs, maxBytes };
    this.#untrimmedBytes = 0;
    this.#trimming = this.#remove(limits).finally(() => {
      this.#trimming = undefined;
    });
    await this.#trimming;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#stopTrimming();
    if (this.isOpened) await this.#flushBeforeStop();
    this.#isClosed = true;
    this.#cancelFlush?.();
    const store = await this.#opened?.catch(() => undefined);
    await store?.close();
  }

  #file(): Promise<Store<SpanProcedures>> {
    if (this.#opened === undefined) {
      this.#opened = this.#open();
      const { file, log } = this.#parts;
      this.#opened.catch((error: unknown) => {
        this.#isUnusable = true;
        log.error("spans cannot be stored on disk and are dropped", { file, error });
      });
    }
    return this.#opened;
  }

  async #open(): Promise<Store<SpanProcedures>> {
    const { file, log, clock, openStore } = this.#parts;
    const store = await openSpanFile({ file, log, nowMs: clock.now(), openStore });
    while (await store.call("interrupt", { limit: STEP_SPANS, ...this.#written() }));
    this.#trimInBackground();
    return store;
  }

  async #flushedStore(): Promise<Store<SpanProcedures>> {
    await this.flush();
    return this.#file();
  }

  /** Returns a function that decodes spans, and masks the values of the keys that the current config lists. */
  #decoder(): (text: string) => SpanRecord {
    const redactor = this.#parts.redactor();
    return (text) => redactSpan(readSpan(text), redactor);
  }

  #scheduleFlush(flushMs: number): void {
    if (this.#isClosed) return;
    this.#cancelFlush ??= this.#parts.clock.after(flushMs, () => {
      this.#cancelFlush = undefined;
      this.#flushInBackground();
    });
  }

  #flushInBackground(): void {
    // A write is already running. Without this check, each span over the limit would queue another one.
    if (this.#flushing !== undefined || this.#isClosed) return;
    // `flush` rejects only if the file could not be opened, and that was logged then.
    this.flush().catch(() => {});
  }

  async #flushBeforeStop(): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#parts.clock.after(STOP_FLUSH_MS, () => {
        this.#parts.log.warn("stopped before all spans were written", { spans: this.#queue.count });
        resolve();
      });
      const done = (): void => {
        cancel();
        resolve();
      };
      this.flush().then(done, done);
    });
  }

  async #write(): Promise<void> {
    const spans = await this.#file().then(
      () => this.#queue.take(),
      (error: unknown) => {
        this.#parts.drops.dropped("spans", "disk_unavailable", this.#queue.take().length);
        throw error;
      },
    );
    const store = await this.#file();
    for (let from = 0; from < spans.length && !this.#isClosed; from += STEP_SPANS) {
      this.#inFlight = spans.length - from;
      if (from > 0) await nextTurn();
      await this.#append(store, spans.slice(from, from + STEP_SPANS));
    }
    this.#inFlight = 0;
    if (this.#untrimmedBytes > TRIM_AFTER_SHARE * this.#limits.maxBytes) this.#trimInBackground();
    if (this.#queue.count > 0) this.#scheduleFlush(FLUSH_MS);
  }

  async #append(store: Store<SpanProcedures>, spans: readonly SpanRecord[]): Promise<void> {
    const { drops, log, redactor } = this.#parts;
    const keys = redactor();
    const texts = spans.map((span) => writeSpan(redactSpan(span, keys)));
    const bytes = texts.reduce((sum, text) => sum + text.length, 0);
    this.#untrimmedBytes += bytes;
    try {
      const { refused, foreign } = await store.call("append", { spans: texts, ...this.#written() }, { bytes });
      if (refused > 0) drops.dropped("spans", "trace_too_large", refused);
      if (foreign > 0) drops.dropped("spans", "span_of_other_sender", foreign);
    } catch (error) {
      drops.dropped("spans", "disk_write_failed", spans.length);
      log.warn("spans could not be written to disk and are lost", { spans: spans.length, error });
    }
  }

  #written(): WriteTime {
    const { keepSlowMs } = this.#limits;
    return { nowMs: this.#parts.clock.now(), keepSlowUs: keepSlowMs > 0 ? 1_000 * keepSlowMs : undefined };
  }

  async #remove(limits: { readonly beforeMs: number; readonly maxBytes: number }): Promise<void> {
    const store = await this.#file();
    while (!this.#isClosed && (await store.call("trim", { ...limits, maxSpans: TRIM_SPANS })).more);
  }

  #trimInBackground(): void {
    if (this.#trimming !== undefined || !this.isOpened) return;
    this.trim().catch((error: unknown) => {
      if (!this.#isClosed) this.#parts.log.warn("old spans could not be removed", { error });
    });
  }
}

function valuesOf({ status, services, functions, triggerType }: Combination): FacetValues {
  return {
    status: [status],
    service: JSON.parse(services) as string[],
    function_id: JSON.parse(functions) as string[],
    trigger_type: triggerType === null ? [] : [triggerType],
  };
}
