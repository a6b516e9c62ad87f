import type { Awaitable, Clock } from "@svc-runtime/engine/module";
import type { DropCounter, SpanRecord } from "../telemetry-records.ts";
import type { DiskSpanStore } from "./disk/disk-span-store.ts";
import { TraceShare } from "./disk/trace-share.ts";
import type { MemorySpanStore } from "./memory/memory-span-store.ts";
import type {
  SpanReader,
  SpanStore,
  SpanStoreStats,
  TracePage,
  TraceRow,
  TraceScan,
  TraceTally,
} from "./span-store.ts";
import type { TraceFilters, TraceListRequest } from "./trace-query.ts";

/**
 * While traces are left out, the copied spans are written after this time, in milliseconds. It is longer than usual,
 * because one write costs as much CPU as ten spans: its code and data are no longer in the processor's caches.
 */
const LIMITED_FLUSH_MS = 5_000;

export interface ArchivedSpansParts {
  readonly memory: MemorySpanStore;
  /** The copy on disk. Its file is opened when it is needed. */
  readonly disk: DiskSpanStore;
  /** True if the file has spans of an earlier run. */
  readonly hasEarlier: boolean;
  readonly clock: Clock;
  readonly drops: DropCounter;
}

/**
 * Stores the newest spans in memory. Also copies spans to disk, where they are stored for longer and survive restarts.
 * Under load, `TraceShare` limits the number of copied traces, so that calls cost little. While the memory has all
 * spans, queries read only the memory. After that, lists read the disk.
 */
export class ArchivedSpans implements SpanStore {
  readonly #parts: ArchivedSpansParts;
  readonly #share: TraceShare;
  #hasEarlier: boolean;
  /** When the last span was left out of the copy, in milliseconds since 1970. */
  #droppedAtMs: number | undefined;

  constructor(parts: ArchivedSpansParts) {
    this.#parts = parts;
    const { memory, disk, clock, drops } = parts;
    this.#share = new TraceShare(clock, {
      isWritingRunning: () => disk.hasPending,
      runningTraces: () => memory.runningTraces(),
      onLeftOut: (count) => {
        this.#droppedAtMs = clock.now();
        drops.dropped("spans", "disk_rate", count);
      },
    });
    this.#hasEarlier = parts.hasEarlier;
  }

  get storage(): SpanStore["storage"] {
    return this.#lists.storage;
  }

  started(span: SpanRecord): void {
    this.#parts.memory.started(span);
    if (this.#share.takesStarted(span)) this.#parts.disk.started(span, this.#flushMs);
  }

  ended(span: SpanRecord): void {
    const { memory, disk } = this.#parts;
    memory.ended(span);
    if (this.#share.takes(span) || disk.isPending(span)) disk.ended(span, this.#flushMs);
  }

  list(request: TraceListRequest): Promise<TracePage> {
    return this.#lists.list(request);
  }

  scan(request: TraceScan, onRow: (row: TraceRow) => void): Promise<boolean> {
    return this.#lists.scan(request, onRow);
  }

  async tally(filters: TraceFilters, max: number): Promise<TraceTally | undefined> {
    return this.#lists.tally?.(filters, max);
  }

  async spansOf(traceId: string): Promise<readonly SpanRecord[]> {
    const { memory, disk } = this.#parts;
    const newest = await memory.spansOf(traceId);
    if (!this.#readsDisk) return newest;
    // Both may have spans that the other does not have: the memory has evicted some, and some were left out of the
    // copy. The larger result is used.
    const stored = await disk.spansOf(traceId);
    return stored.length >= newest.length ? stored : newest;
  }

  async span(traceId: string, spanId: string): Promise<SpanRecord | undefined> {
    const { memory, disk } = this.#parts;
    return (await memory.span(traceId, spanId)) ?? (this.#readsDisk ? disk.span(traceId, spanId) : undefined);
  }

  async clear(): Promise<void> {
    await this.#parts.memory.clear();
    const { disk } = this.#parts;
    if ((this.#hasEarlier || disk.isOpened) && !disk.isUnusable) await disk.clear();
    this.#hasEarlier = false;
    this.#droppedAtMs = undefined;
  }

  /**
   * Returns the statistics. The result is not a promise while the memory has all spans, so that measurements need not
   * wait.
   */
  stats(): Awaitable<SpanStoreStats> {
    const { memory, disk } = this.#parts;
    return this.#readsDisk ? this.#diskStats() : { ...memory.stats(), unwritten: disk.unwritten };
  }

  async #diskStats(): Promise<SpanStoreStats> {
    const stats = await this.#parts.disk.stats();
    if (this.#droppedAtMs === undefined) return stats;
    return { ...stats, completeSinceMs: Math.max(stats.completeSinceMs ?? 0, this.#droppedAtMs) };
  }

  async flush(): Promise<void> {
    const { disk } = this.#parts;
    if (disk.isOpened && !disk.isUnusable) await disk.flush();
  }

  async close(): Promise<void> {
    this.#share.stop();
    await this.#parts.memory.close();
    await this.#parts.disk.close();
  }

  get #flushMs(): number | undefined {
    return this.#share.isLimiting ? LIMITED_FLUSH_MS : undefined;
  }

  get #readsDisk(): boolean {
    const { memory, disk } = this.#parts;
    return (this.#hasEarlier || memory.hasEvicted) && !disk.isUnusable;
  }

  get #lists(): SpanReader {
    return this.#readsDisk ? this.#parts.disk : this.#parts.memory;
  }
}
