import type { SecretMask } from "@svc-runtime/protocol";
import { type DropCounter, durationOf, type SpanRecord } from "../../telemetry-records.ts";
import type { SpanStore, SpanStoreStats, TracePage, TraceRow, TraceScan } from "../span-store.ts";
import { microsOf } from "../trace-facts.ts";
import type { TraceListRequest } from "../trace-query.ts";
import type { MemoryQueries } from "./memory-queries.ts";
import { PendingSpans } from "./pending-spans.ts";
import { SpanRing } from "./span-ring.ts";

/** Share of the limits that is reserved for evicted spans of failed or slow traces. */
const RESERVED_SHARE = 0.25;
/**
 * Share of the maximum number of spans that may be evicted between two queries. If more are evicted, the index of the
 * traces is dropped. It refers to evicted spans until the next query, and perhaps there is none.
 */
const UNINDEXED_SHARE = 0.5;
/** Maximum number of failed or slow traces that are remembered. */
const MAX_KEPT_TRACES = 10_000;
/** Maximum size of a span in bytes. Larger spans are not stored. */
export const MAX_SPAN_BYTES = 1024 * 1024;

export interface MemoryLimits {
  readonly maxSpans: number;
  readonly maxBytes: number;
  /**
   * Traces with a span of at least this duration, in milliseconds, are stored longer than others. With 0, no trace is
   * slow.
   */
  readonly keepSlowMs: number;
}

/**
 * Stores the newest spans in memory. A quarter of the limits is reserved for failed and slow traces: when their spans
 * are evicted, they move into this reserve. From the reserve, the oldest are evicted first.
 */
export class MemorySpanStore implements SpanStore {
  readonly storage = "memory";
  #limits: MemoryLimits;
  readonly #drops: DropCounter;
  readonly #redactor: () => SecretMask;
  readonly #ring = new SpanRing();
  readonly #reserve = new SpanRing();
  readonly #pending = new PendingSpans();
  readonly #keptTraces = new Set<string>();
  /** Number of running searches. While there are any, evicted records must not be reused for other calls. */
  #searches = 0;
  /** True if a span was evicted from the ring of the newest spans since the store was last empty. */
  #hasEvicted = false;
  /** Undefined until the first query. */
  #queries: MemoryQueries | undefined;
  /** Number of spans that were evicted since the last query. */
  #evictedSinceQuery = 0;

  /** `redactor` returns the secret mask of the current config. */
  constructor(
    limits: MemoryLimits,
    { drops, redactor }: { readonly drops: DropCounter; readonly redactor: () => SecretMask },
  ) {
    this.#limits = limits;
    this.#drops = drops;
    this.#redactor = redactor;
  }

  /** Changes the limits. Spans over the new limits are removed at once. */
  setLimits(limits: MemoryLimits): void {
    this.#limits = limits;
    this.#makeRoom();
  }

  started(span: SpanRecord): void {
    if (this.#pending.add(span)) span.retain?.();
  }

  ended(span: SpanRecord): void {
    if (this.#pending.remove(span)) this.#releaseSpan(span);
    const size = span.size;
    if (size > MAX_SPAN_BYTES) {
      this.#drops.dropped("spans", "span_too_large", 1);
      return;
    }
    if (span.status === "error" || this.#isSlow(span)) this.#rememberTrace(span.traceId);
    span.retain?.();
    this.#ring.push(span, size);
    this.#makeRoom();
  }

  list(request: TraceListRequest): Promise<TracePage> {
    return this.#search((queries) => queries.list(request));
  }

  scan(request: TraceScan, onRow: (row: TraceRow) => void): Promise<boolean> {
    return this.#search((queries) => queries.scan(request, onRow));
  }

  spansOf(traceId: string): Promise<readonly SpanRecord[]> {
    return this.#search((queries) => queries.spansOf(traceId));
  }

  span(traceId: string, spanId: string): Promise<SpanRecord | undefined> {
    return this.#search((queries) => queries.span(traceId, spanId));
  }

  /** Yields the trace ids of the running spans; an id may be repeated. */
  *runningTraces(): Generator<string> {
    for (const { traceId } of this.#pending) yield traceId;
  }

  /** True if the store no longer has all spans that it received. */
  get hasEvicted(): boolean {
    return this.#hasEvicted;
  }

  async clear(): Promise<void> {
    this.#ring.clear();
    this.#reserve.clear();
    this.#keptTraces.clear();
    this.#hasEvicted = false;
  }

  stats(): SpanStoreStats {
    const [reserved, oldest] = [startMsOf(this.#reserve.oldest), startMsOf(this.#ring.oldest)];
    return {
      stored: this.#count,
      limit: this.#limits.maxSpans,
      bytes: this.#bytes,
      maxBytes: this.#limits.maxBytes,
      diskBytes: undefined,
      oldestMs: reserved === undefined || oldest === undefined ? (reserved ?? oldest) : Math.min(reserved, oldest),
      completeSinceMs: this.#hasEvicted ? oldest : undefined,
      unwritten: 0,
    };
  }

  async flush(): Promise<void> {}

  async close(): Promise<void> {}

  get #count(): number {
    return this.#ring.count + this.#reserve.count;
  }

  get #bytes(): number {
    return this.#ring.bytes + this.#reserve.bytes;
  }

  async #search<Result>(run: (queries: MemoryQueries) => Promise<Result>): Promise<Result> {
    this.#searches += 1;
    try {
      const { MemoryQueries: Queries } = await import("./memory-queries.ts");
      this.#queries ??= new Queries({
        ring: this.#ring,
        reserve: this.#reserve,
        pending: this.#pending,
        redactor: this.#redactor,
      });
      this.#evictedSinceQuery = 0;
      return await run(this.#queries);
    } finally {
      this.#searches -= 1;
    }
  }

  #isSlow(span: SpanRecord): boolean {
    const { keepSlowMs } = this.#limits;
    return keepSlowMs > 0 && durationOf(span) >= keepSlowMs;
  }

  #rememberTrace(traceId: string): void {
    if (this.#keptTraces.has(traceId)) return;
    if (this.#keptTraces.size >= MAX_KEPT_TRACES)
      for (const oldest of this.#keptTraces) {
        this.#keptTraces.delete(oldest);
        break;
      }
    this.#keptTraces.add(traceId);
  }

  #makeRoom(): void {
    while (this.#count > this.#limits.maxSpans || this.#bytes > this.#limits.maxBytes) {
      if (this.#isReserveFull()) this.#releaseSpan(this.#reserve.shift());
      else this.#evictOldest();
      this.#evictedSinceQuery += 1;
    }
    if (this.#evictedSinceQuery > UNINDEXED_SHARE * this.#limits.maxSpans) this.#queries = undefined;
  }

  #releaseSpan(span: SpanRecord | undefined): void {
    if (this.#searches === 0) span?.release?.();
  }

  #isReserveFull(): boolean {
    return (
      this.#reserve.count > RESERVED_SHARE * this.#limits.maxSpans ||
      this.#reserve.bytes > RESERVED_SHARE * this.#limits.maxBytes ||
      this.#ring.count === 0
    );
  }

  #evictOldest(): void {
    this.#hasEvicted = true;
    const { bytes, first } = this.#ring;
    const span = this.#ring.shift();
    // Checks the size of the set before the trace id, because most records compute their trace id at each read.
    if (span === undefined || this.#keptTraces.size === 0 || !this.#keptTraces.has(span.traceId)) {
      this.#releaseSpan(span);
      return;
    }
    span.unpack?.();
    this.#reserve.push(span, bytes - this.#ring.bytes, first);
  }
}

function startMsOf(span: SpanRecord | undefined): number | undefined {
  return span === undefined ? undefined : microsOf(span.startUnixNano) / 1_000;
}
