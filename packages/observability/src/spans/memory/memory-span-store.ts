import type { SecretMask } from "@svc-runtime/protocol";
import { type DropCounter, durationOf, type SpanRecord } from "../../model.ts";
import { redactSpan } from "../redact-span.ts";
import { mayReplace, type SpanStore, type SpanStoreStats, type TracePage } from "../span-store.ts";
import { microsOf } from "../trace-facts.ts";
import type { TraceListRequest } from "../trace-query.ts";
import { PendingSpans } from "./pending-spans.ts";
import { SpanRing } from "./span-ring.ts";

/** Share of the limits that is reserved for evicted spans of failed or slow traces. */
const RESERVED_SHARE = 0.25;
/** Maximum number of remembered failed or slow traces. */
const MAX_KEPT_TRACES = 10_000;
/** Larger spans are not stored; bytes. */
export const MAX_SPAN_BYTES = 1024 * 1024;

export interface MemoryLimits {
  readonly maxSpans: number;
  readonly maxBytes: number;
  /** Traces with a span of at least this duration outlive others; 0: off. */
  readonly keepSlowMs: number;
}

/**
 * Stores the newest spans in memory. Evicted spans of failed or slow traces get a second chance in a reserved quarter
 * of the limits, where the oldest are evicted first.
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

  /** `redactor` uses the current config. */
  constructor(
    limits: MemoryLimits,
    { drops, redactor }: { readonly drops: DropCounter; readonly redactor: () => SecretMask },
  ) {
    this.#limits = limits;
    this.#drops = drops;
    this.#redactor = redactor;
  }

  /** Spans over the limits are removed at once. */
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

  async list(request: TraceListRequest): Promise<TracePage> {
    this.#searches += 1;
    try {
      const { listTraces } = await import("./memory-queries.ts");
      return await listTraces(this.#all(), request, this.#masker());
    } finally {
      this.#searches -= 1;
    }
  }

  async spansOf(traceId: string): Promise<readonly SpanRecord[]> {
    const { spansOfTrace } = await import("./memory-queries.ts");
    return spansOfTrace(this.#all(), traceId).map(this.#masker());
  }

  async span(traceId: string, spanId: string): Promise<SpanRecord | undefined> {
    let found: SpanRecord | undefined;
    for (const span of this.#all()) {
      if (span.spanId !== spanId || span.traceId !== traceId) continue;
      if (found === undefined || mayReplace(span, found)) found = span;
    }
    return found === undefined ? undefined : this.#masker()(found);
  }

  async clear(): Promise<void> {
    this.#ring.clear();
    this.#reserve.clear();
    this.#keptTraces.clear();
  }

  stats(): SpanStoreStats {
    const oldest = [this.#reserve.oldest, this.#ring.oldest]
      .filter((span) => span !== undefined)
      .map((span) => microsOf(span.startUnixNano) / 1_000);
    return {
      stored: this.#count,
      limit: this.#limits.maxSpans,
      bytes: this.#bytes,
      maxBytes: this.#limits.maxBytes,
      diskBytes: undefined,
      oldestMs: oldest.length === 0 ? undefined : Math.min(...oldest),
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

  /** Pending spans come first, so that the end of a span replaces them. */
  #all(): SpanRecord[] {
    return [...this.#pending, ...this.#reserve.toArray(), ...this.#ring.toArray()];
  }

  /** Masks spans with the keys that are configured now. */
  #masker(): (span: SpanRecord) => SpanRecord {
    const redactor = this.#redactor();
    return (span) => redactSpan(span, redactor);
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
    }
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
    const bytes = this.#ring.bytes;
    const span = this.#ring.shift();
    // Checks the set first, because most records compute their trace id at each read.
    if (span === undefined || this.#keptTraces.size === 0 || !this.#keptTraces.has(span.traceId)) {
      this.#releaseSpan(span);
      return;
    }
    span.unpack?.();
    this.#reserve.push(span, bytes - this.#ring.bytes);
  }
}
