import { setImmediate as nextTurn } from "node:timers/promises";
import type { SecretMask } from "@svc/protocol";
import { ageClock, type Clock, every } from "../../../../kernel/clock.ts";
import type { Logger } from "../../../../kernel/logger.ts";
import type { Store } from "../../../../store/store.ts";
import type { DropCounter, SpanRecord } from "../../model.ts";
import { MAX_SPAN_BYTES } from "../memory/memory-span-store.ts";
import { redactSpan } from "../redact-span.ts";
import { bySpanStart, MAX_READ_SPANS, type SpanStore, type SpanStoreStats, type TracePage } from "../span-store.ts";
import type { TraceListRequest } from "../trace-query.ts";
import { openSpanFile } from "./open-span-file.ts";
import type { SpanProcedures } from "./procedures.ts";
import { readSpan, writeSpan } from "./span-json.ts";
import { SpanQueue } from "./span-queue.ts";
import { factsOf } from "./trace-rows.ts";

/** Spans wait for the disk at most so long, in milliseconds, and so many. */
const FLUSH_MS = 1_000;
const FLUSH_SPANS = 2_000;
/** Spans that are turned into text in one turn of the engine's loop, and written in one step. */
const STEP_SPANS = 200;
/** How often the limits are looked at, in milliseconds, and how many spans go in one step. */
const TRIM_EVERY_MS = 30_000;
const TRIM_SPANS = 500;
/** A stop waits so long for what is not written yet, in milliseconds. */
const STOP_FLUSH_MS = 2_000;
/** Of what the file may take: so much that was written has the limits looked at at once. */
const TRIM_AFTER_SHARE = 1 / 32;
/** Larger than any time. */
const EVERYTHING = Number.MAX_SAFE_INTEGER;

export interface DiskSpanLimits {
  /** Of the file, without what is free in it. */
  readonly maxBytes: number;
  readonly retentionMs: number;
}

export interface DiskSpanStoreParts {
  /** Absolute path; its folder is made. */
  readonly file: string;
  readonly limits: DiskSpanLimits;
  readonly log: Logger;
  /** For the ages of spans. */
  readonly clock: Clock;
  readonly drops: DropCounter;
  /** As configured now. */
  readonly redactor: () => SecretMask;
}

/**
 * Spans on disk, over restarts. They are written within a second; a query first writes what waits. What must not be shown is masked before it is written.
 * The file is opened in the background: until then spans wait, in a bounded queue.
 */
export class DiskSpanStore implements SpanStore {
  readonly storage = "disk";
  readonly #parts: DiskSpanStoreParts;
  readonly #ageNow: () => number;
  readonly #queue = new SpanQueue();
  readonly #opened: Promise<Store<SpanProcedures>>;
  readonly #stopTrimming: () => void;
  #cancelFlush: (() => void) | undefined;
  #flushing: Promise<void> | undefined;
  #trimming: Promise<void> | undefined;
  #isClosed = false;
  #limits: DiskSpanLimits;
  /** Taken out of the queue, and not on the disk yet. */
  #underWay = 0;
  #untrimmedBytes = 0;

  constructor(parts: DiskSpanStoreParts) {
    this.#parts = parts;
    this.#ageNow = ageClock(parts.clock);
    this.#limits = parts.limits;
    this.#opened = this.#open();
    this.#opened.catch((error: unknown) => parts.log.error("spans cannot be kept on disk; they are dropped", { file: parts.file, error }));
    this.#stopTrimming = every(parts.clock, TRIM_EVERY_MS, () => this.#trimInBackground());
  }

  /** What is over goes soon. */
  setLimits(limits: DiskSpanLimits): void {
    this.#limits = limits;
    this.#trimInBackground();
  }

  started(span: SpanRecord): void {
    this.#queue.started(span);
    this.#scheduleFlush();
  }

  ended(span: SpanRecord): void {
    const size = span.size;
    if (size > MAX_SPAN_BYTES) this.#parts.drops.dropped("spans", "span_too_large", 1);
    else if (!this.#queue.ended(span, size)) this.#parts.drops.dropped("spans", "disk_queue_full", 1);
    if (this.#queue.count >= FLUSH_SPANS) this.#flushInBackground();
    else this.#scheduleFlush();
  }

  async list(request: TraceListRequest): Promise<TracePage> {
    const store = await this.#current();
    const { rows, ...rest } = await store.call("list", request);
    const shown = this.#shown();
    return { ...rest, rows: rows.map(({ row, spans }) => ({ facts: factsOf(row), spans: spans.map(shown).sort(bySpanStart) })) };
  }

  async spansOf(traceId: string): Promise<readonly SpanRecord[]> {
    const store = await this.#current();
    const texts = await store.call("spansOf", { traceId, limit: MAX_READ_SPANS });
    const shown = this.#shown();
    const spans: SpanRecord[] = [];
    for (const [index, text] of texts.entries()) {
      if (index % FLUSH_SPANS === FLUSH_SPANS - 1) await nextTurn();
      spans.push(shown(text));
    }
    return spans.sort(bySpanStart);
  }

  async span(traceId: string, spanId: string): Promise<SpanRecord | undefined> {
    const store = await this.#current();
    const text = await store.call("span", { traceId, spanId });
    return text === undefined ? undefined : this.#shown()(text);
  }

  async clear(): Promise<void> {
    await this.flush();
    await this.#remove({ beforeMs: EVERYTHING, maxBytes: 0 });
  }

  async stats(): Promise<SpanStoreStats> {
    const store = await this.#opened;
    const { spans, usedBytes, fileBytes, oldestUs } = await store.call("stats", null);
    const unwritten = this.#queue.count + this.#underWay;
    return {
      stored: spans + unwritten,
      limit: undefined,
      bytes: usedBytes,
      maxBytes: this.#limits.maxBytes,
      diskBytes: fileBytes,
      oldestMs: oldestUs === undefined ? undefined : oldestUs / 1_000,
      unwritten,
    };
  }

  /** Writes what waits. Rejects only when the file cannot be used at all. */
  async flush(): Promise<void> {
    // What is under way may have begun before the newest came.
    while (this.#flushing !== undefined) await this.#flushing;
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    this.#flushing = this.#write().finally(() => {
      this.#flushing = undefined;
    });
    await this.#flushing;
  }

  /** Removes what is over the limits, in steps between which others get their turn. */
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
    await this.#flushBeforeStop();
    this.#isClosed = true;
    this.#cancelFlush?.();
    const store = await this.#opened.catch(() => undefined);
    await store?.close();
  }

  async #open(): Promise<Store<SpanProcedures>> {
    const { file, log, clock } = this.#parts;
    const store = await openSpanFile({ file, log, nowMs: clock.now() });
    while (await store.call("interrupt", { limit: STEP_SPANS, nowMs: clock.now() }));
    this.#trimInBackground();
    return store;
  }

  async #current(): Promise<Store<SpanProcedures>> {
    await this.flush();
    return this.#opened;
  }

  /** By one set of keys for a whole answer. */
  #shown(): (text: string) => SpanRecord {
    const redactor = this.#parts.redactor();
    return (text) => redactSpan(readSpan(text), redactor);
  }

  #scheduleFlush(): void {
    if (this.#isClosed) return;
    this.#cancelFlush ??= this.#parts.clock.after(FLUSH_MS, () => {
      this.#cancelFlush = undefined;
      this.#flushInBackground();
    });
  }

  #flushInBackground(): void {
    // Else every span past the limit would add one more that waits for its turn.
    if (this.#flushing !== undefined || this.#isClosed) return;
    // That the file cannot be used was told when it was opened.
    this.flush().catch(() => {});
  }

  async #flushBeforeStop(): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#parts.clock.after(STOP_FLUSH_MS, () => {
        this.#parts.log.warn("the stop did not wait for spans to be written", { spans: this.#queue.count });
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
    const spans = await this.#opened.then(
      () => this.#queue.take(),
      (error: unknown) => {
        this.#parts.drops.dropped("spans", "disk_unavailable", this.#queue.take().length);
        throw error;
      },
    );
    const store = await this.#opened;
    for (let from = 0; from < spans.length && !this.#isClosed; from += STEP_SPANS) {
      this.#underWay = spans.length - from;
      if (from > 0) await nextTurn();
      await this.#append(store, spans.slice(from, from + STEP_SPANS));
    }
    this.#underWay = 0;
    if (this.#untrimmedBytes > TRIM_AFTER_SHARE * this.#limits.maxBytes) this.#trimInBackground();
    if (this.#queue.count > 0) this.#scheduleFlush();
  }

  async #append(store: Store<SpanProcedures>, spans: readonly SpanRecord[]): Promise<void> {
    const { clock, drops, log, redactor } = this.#parts;
    const keys = redactor();
    const texts = spans.map((span) => writeSpan(redactSpan(span, keys)));
    const bytes = texts.reduce((sum, text) => sum + text.length, 0);
    this.#untrimmedBytes += bytes;
    try {
      const { refused, foreign } = await store.call("append", { spans: texts, nowMs: clock.now() }, { bytes });
      if (refused > 0) drops.dropped("spans", "trace_too_large", refused);
      if (foreign > 0) drops.dropped("spans", "span_of_other_sender", foreign);
    } catch (error) {
      drops.dropped("spans", "disk_write_failed", spans.length);
      log.warn("spans could not be written to the disk and are lost", { spans: spans.length, error });
    }
  }

  async #remove(limits: { readonly beforeMs: number; readonly maxBytes: number }): Promise<void> {
    const store = await this.#opened;
    while (!this.#isClosed && (await store.call("trim", { ...limits, maxSpans: TRIM_SPANS })).more);
  }

  #trimInBackground(): void {
    if (this.#trimming !== undefined) return;
    this.trim().catch((error: unknown) => {
      if (!this.#isClosed) this.#parts.log.warn("old spans could not be removed", { error });
    });
  }
}
