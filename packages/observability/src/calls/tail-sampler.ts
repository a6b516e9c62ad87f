import { type DropCounter, durationOf, type SpanRecord, type SpanSink } from "../telemetry-records.ts";
import { HeldSpans } from "./held-spans.ts";

/**
 * Unsampled spans wait up to `HOLD_MS` milliseconds for an error or a slow span in their trace. At most
 * `MAX_HELD_SPANS` spans wait; the oldest are dropped first.
 */
export const HOLD_MS = 10_000;
export const MAX_HELD_SPANS = 5_000;
/**
 * Maximum size of all waiting spans, in bytes. It is needed because spans that workers send may have large attributes.
 */
export const MAX_HELD_BYTES = 16 * 1024 * 1024;
/**
 * Share of both limits for spans that workers send (external spans). They are more frequent and would otherwise evict
 * the engine's own spans too early.
 */
const EXTERNAL_SHARE = 0.5;
/** Maximum number of remembered traces that had an error or a slow span. Their further spans are forwarded at once. */
const MAX_KEPT_TRACES = 2_000;

export interface TailSamplingOptions {
  readonly keepErrors: boolean;
  /** Minimum duration of a slow span, in milliseconds. With 0, no trace is kept for being slow. */
  readonly keepSlowMs: number;
}

/**
 * A tail-based sampler. It forwards sampled spans at once. It buffers unsampled spans until their trace has an error or
 * a slow span, and then forwards all spans of the trace. Otherwise it drops them, and does not count them as lost,
 * because the config asks for sampling. Pending spans are forwarded only if they are sampled.
 */
export class TailSampler implements SpanSink {
  options: TailSamplingOptions;
  readonly #sink: SpanSink;
  readonly #now: () => number;
  readonly #drops: DropCounter | undefined;
  readonly #own = new HeldSpans(MAX_HELD_SPANS);
  /** Buffered external spans. They have their own buffer, so that they do not evict the engine's own spans. */
  readonly #external = new HeldSpans(MAX_HELD_SPANS * EXTERNAL_SHARE);
  /** Ids of traces whose spans are all forwarded, oldest first. */
  readonly #kept = new Set<string>();

  constructor(
    sink: SpanSink,
    options: TailSamplingOptions & { readonly now: () => number; readonly drops?: DropCounter | undefined },
  ) {
    this.#sink = sink;
    this.options = options;
    this.#now = options.now;
    this.#drops = options.drops;
  }

  get heldSpans(): number {
    return this.#own.count + this.#external.count;
  }

  started(span: SpanRecord): void {
    if (span.sampled) this.#sink.started(span);
  }

  ended(span: SpanRecord): void {
    if (span.sampled) {
      // Other spans of the trace may be unsampled, because a worker can decide differently from the trace's first span.
      if (this.heldSpans > 0 && this.#isWorthKeeping(span)) this.#keep(span.traceId);
      this.#sink.ended(span);
      return;
    }
    if (this.#kept.size > 0 && this.#kept.has(span.traceId)) {
      this.#forward(span);
      return;
    }
    if (this.#isWorthKeeping(span)) {
      this.#keep(span.traceId);
      this.#forward(span);
      return;
    }
    this.#hold(span);
  }

  /** Unpacks the span, because it will be stored longer than the calls whose texts share its chunk. */
  readonly #forward = (span: SpanRecord): void => {
    span.unpack?.();
    this.#sink.ended(span);
  };

  clear(): void {
    this.#own.clear();
    this.#external.clear();
    this.#kept.clear();
  }

  #isWorthKeeping(span: SpanRecord): boolean {
    const { keepErrors, keepSlowMs } = this.options;
    if (keepErrors && span.status === "error") return true;
    return keepSlowMs > 0 && durationOf(span) >= keepSlowMs;
  }

  #hold(span: SpanRecord): void {
    const { keepErrors, keepSlowMs } = this.options;
    if (!keepErrors && keepSlowMs === 0) return;
    const own = this.#own;
    const external = this.#external;
    const now = this.#now();
    own.dropUntil(now - HOLD_MS);
    if (external.count > 0) external.dropUntil(now - HOLD_MS);
    const { size } = span;
    if (span.outside === true) {
      while (external.isFull || (external.count > 0 && external.bytes + size > MAX_HELD_BYTES * EXTERNAL_SHARE))
        this.#evict(external);
      while (external.count > 0 && this.#isOverLimit(size)) this.#evict(external);
      if (this.#isOverLimit(size)) this.#drops?.dropped("spans", "not_sampled_full", 1);
      else external.add(span, now);
      return;
    }
    while (this.#isOverLimit(size)) this.#evict(external.count > 0 ? external : own);
    while (own.isFull) this.#evict(own);
    own.add(span, now);
  }

  #isOverLimit(size: number): boolean {
    const held = this.#own.count + this.#external.count;
    return held >= MAX_HELD_SPANS || (held > 0 && this.#own.bytes + this.#external.bytes + size > MAX_HELD_BYTES);
  }

  #evict(from: HeldSpans): void {
    if (from.dropFirst()) this.#drops?.dropped("spans", "not_sampled_full", 1);
  }

  /** Forwards the buffered spans of the trace, and from now on all of its further spans. */
  #keep(traceId: string): void {
    this.#kept.add(traceId);
    if (this.#kept.size > MAX_KEPT_TRACES) {
      for (const oldest of this.#kept) {
        this.#kept.delete(oldest);
        break;
      }
    }
    const since = this.#now() - HOLD_MS;
    this.#own.take(traceId, since, this.#forward);
    this.#external.take(traceId, since, this.#forward);
  }
}
