import type { SecretMask } from "@svc/protocol";
import { type DropCounter, durationOf, type SpanRecord } from "../../model.ts";
import { redactSpan } from "../redact-span.ts";
import { mayReplace, type SpanStore, type SpanStoreStats, type TracePage } from "../span-store.ts";
import { microsOf } from "../trace-facts.ts";
import type { TraceListRequest } from "../trace-query.ts";
import { PendingSpans } from "./pending-spans.ts";
import { SpanRing } from "./span-ring.ts";

/** Part of the room that spans of traces with an error, or slow ones, may take once they would have to go. */
const KEPT_SHARE = 0.25;
/** Traces that are remembered as worth keeping. */
const MAX_KEPT_TRACES = 10_000;
/** Larger spans are not kept, in bytes. */
export const MAX_SPAN_BYTES = 1024 * 1024;

export interface MemoryLimits {
  readonly maxSpans: number;
  readonly maxBytes: number;
  /** Traces with a span that took at least so long outlive others; 0: none do for that. */
  readonly keepSlowMs: number;
}

/**
 * The newest spans, as they were told. The oldest go first, but those of traces that had an error or a slow span move on into a quarter of the room, where they
 * are the oldest again.
 */
export class MemorySpanStore implements SpanStore {
  readonly storage = "memory";
  #limits: MemoryLimits;
  readonly #drops: DropCounter;
  readonly #redactor: () => SecretMask;
  readonly #ring = new SpanRing();
  readonly #kept = new SpanRing();
  readonly #pending = new PendingSpans();
  readonly #keptTraces = new Set<string>();
  /** Searches under way: what they look at must not become another call's. */
  #searches = 0;

  /** `redactor`: as configured now. */
  constructor(limits: MemoryLimits, { drops, redactor }: { readonly drops: DropCounter; readonly redactor: () => SecretMask }) {
    this.#limits = limits;
    this.#drops = drops;
    this.#redactor = redactor;
  }

  /** What is over goes at once. */
  setLimits(limits: MemoryLimits): void {
    this.#limits = limits;
    this.#makeRoom();
  }

  started(span: SpanRecord): void {
    if (this.#pending.add(span)) span.retain?.();
  }

  ended(span: SpanRecord): void {
    if (this.#pending.remove(span)) this.#letGo(span);
    const size = span.size;
    if (size > MAX_SPAN_BYTES) {
      this.#drops.dropped("spans", "span_too_large", 1);
      return;
    }
    if (span.status === "error" || this.#isSlow(span)) this.#keep(span.traceId);
    span.retain?.();
    this.#ring.push(span, size);
    this.#makeRoom();
  }

  async list(request: TraceListRequest): Promise<TracePage> {
    this.#searches += 1;
    try {
      const { listTraces } = await import("./memory-queries.ts");
      return await listTraces(this.#all(), request, this.#shown());
    } finally {
      this.#searches -= 1;
    }
  }

  async spansOf(traceId: string): Promise<readonly SpanRecord[]> {
    const { spansOfTrace } = await import("./memory-queries.ts");
    return spansOfTrace(this.#all(), traceId).map(this.#shown());
  }

  async span(traceId: string, spanId: string): Promise<SpanRecord | undefined> {
    let found: SpanRecord | undefined;
    for (const span of this.#all()) {
      if (span.spanId !== spanId || span.traceId !== traceId) continue;
      if (found === undefined || mayReplace(span, found)) found = span;
    }
    return found === undefined ? undefined : this.#shown()(found);
  }

  async clear(): Promise<void> {
    this.#ring.clear();
    this.#kept.clear();
    this.#keptTraces.clear();
  }

  stats(): SpanStoreStats {
    const oldest = [this.#kept.oldest, this.#ring.oldest].filter((span) => span !== undefined).map((span) => microsOf(span.startUnixNano) / 1_000);
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
    return this.#ring.count + this.#kept.count;
  }

  get #bytes(): number {
    return this.#ring.bytes + this.#kept.bytes;
  }

  /** Pending ones first: the end of a span is what counts of it. */
  #all(): SpanRecord[] {
    return [...this.#pending, ...this.#kept.toArray(), ...this.#ring.toArray()];
  }

  /** By one set of keys for a whole answer. */
  #shown(): (span: SpanRecord) => SpanRecord {
    const redactor = this.#redactor();
    return (span) => redactSpan(span, redactor);
  }

  #isSlow(span: SpanRecord): boolean {
    const { keepSlowMs } = this.#limits;
    return keepSlowMs > 0 && durationOf(span) >= keepSlowMs;
  }

  #keep(traceId: string): void {
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
      if (this.#keepsTooMuch()) this.#letGo(this.#kept.shift());
      else this.#moveOn();
    }
  }

  #letGo(span: SpanRecord | undefined): void {
    if (this.#searches === 0) span?.release?.();
  }

  #keepsTooMuch(): boolean {
    return this.#kept.count > KEPT_SHARE * this.#limits.maxSpans || this.#kept.bytes > KEPT_SHARE * this.#limits.maxBytes || this.#ring.count === 0;
  }

  #moveOn(): void {
    const bytes = this.#ring.bytes;
    const span = this.#ring.shift();
    // The trace id of most is worked out at each reading.
    if (span === undefined || this.#keptTraces.size === 0 || !this.#keptTraces.has(span.traceId)) {
      this.#letGo(span);
      return;
    }
    span.unpack?.();
    this.#kept.push(span, bytes - this.#ring.bytes);
  }
}
