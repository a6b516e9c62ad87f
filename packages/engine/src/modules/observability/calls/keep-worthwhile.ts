import { type DropCounter, durationOf, type SpanRecord, type SpanSink } from "../model.ts";
import { HeldSpans } from "./held-spans.ts";

/** How long spans of traces that were not sampled wait for a reason to keep them, and how many; the oldest go first. */
export const HOLD_MS = 10_000;
export const MAX_HELD_SPANS = 5_000;
/** All of them together, as they tell their size: what workers send may have large attributes. */
export const MAX_HELD_BYTES = 16 * 1024 * 1024;
/** Of both that spans from outside may take: workers tell many more than the engine, whose own would wait too short. */
const OUTSIDE_SHARE = 0.5;
/** Traces that turned out to be worth keeping and may have further spans. */
const MAX_KEPT_TRACES = 2_000;

export interface KeepOptions {
  readonly keepErrors: boolean;
  /** Milliseconds; 0: none is kept for being slow. */
  readonly keepSlowMs: number;
}

/**
 * Hands on what is sampled. What is not is held until its trace has an error or a slow span, and then handed on with all of its trace; otherwise it is
 * dropped without being counted as lost, since that was asked for. Pending spans are handed on only where they are sampled.
 */
export class WorthwhileSpans implements SpanSink {
  options: KeepOptions;
  readonly #sink: SpanSink;
  /** Milliseconds, never going back. */
  readonly #now: () => number;
  readonly #drops: DropCounter | undefined;
  readonly #own = new HeldSpans(MAX_HELD_SPANS);
  /** From outside; they give way to the engine's own. */
  readonly #outside = new HeldSpans(MAX_HELD_SPANS * OUTSIDE_SHARE);
  /** Trace ids, the first kept first. */
  readonly #kept = new Set<string>();

  constructor(sink: SpanSink, options: KeepOptions & { readonly now: () => number; readonly drops?: DropCounter | undefined }) {
    this.#sink = sink;
    this.options = options;
    this.#now = options.now;
    this.#drops = options.drops;
  }

  get heldSpans(): number {
    return this.#own.count + this.#outside.count;
  }

  started(span: SpanRecord): void {
    if (span.sampled) this.#sink.started(span);
  }

  ended(span: SpanRecord): void {
    if (span.sampled) {
      // What was sampled by its beginner may have parts that others did not sample.
      if (this.heldSpans > 0 && this.#isWorthwhile(span)) this.#keep(span.traceId);
      this.#sink.ended(span);
      return;
    }
    if (this.#kept.size > 0 && this.#kept.has(span.traceId)) {
      this.#handOn(span);
      return;
    }
    if (this.#isWorthwhile(span)) {
      this.#keep(span.traceId);
      this.#handOn(span);
      return;
    }
    this.#hold(span);
  }

  /** It will be kept longer than those around it. */
  readonly #handOn = (span: SpanRecord): void => {
    span.unpack?.();
    this.#sink.ended(span);
  };

  /** Forgets what waits, e.g. when everything is cleared. */
  clear(): void {
    this.#own.clear();
    this.#outside.clear();
    this.#kept.clear();
  }

  #isWorthwhile(span: SpanRecord): boolean {
    const { keepErrors, keepSlowMs } = this.options;
    if (keepErrors && span.status === "error") return true;
    return keepSlowMs > 0 && durationOf(span) >= keepSlowMs;
  }

  #hold(span: SpanRecord): void {
    const { keepErrors, keepSlowMs } = this.options;
    if (!keepErrors && keepSlowMs === 0) return;
    const own = this.#own;
    const outside = this.#outside;
    const now = this.#now();
    own.dropUntil(now - HOLD_MS);
    if (outside.count > 0) outside.dropUntil(now - HOLD_MS);
    const { size } = span;
    if (span.outside === true) {
      while (outside.isFull || (outside.count > 0 && outside.bytes + size > MAX_HELD_BYTES * OUTSIDE_SHARE)) this.#evict(outside);
      while (outside.count > 0 && this.#isTooMuch(size)) this.#evict(outside);
      if (this.#isTooMuch(size)) this.#drops?.dropped("spans", "not_sampled_full", 1);
      else outside.add(span, now);
      return;
    }
    while (this.#isTooMuch(size)) this.#evict(outside.count > 0 ? outside : own);
    while (own.isFull) this.#evict(own);
    own.add(span, now);
  }

  #isTooMuch(size: number): boolean {
    const held = this.#own.count + this.#outside.count;
    return held >= MAX_HELD_SPANS || (held > 0 && this.#own.bytes + this.#outside.bytes + size > MAX_HELD_BYTES);
  }

  #evict(from: HeldSpans): void {
    if (from.dropFirst()) this.#drops?.dropped("spans", "not_sampled_full", 1);
  }

  /** Hands on what is held of the trace, and lets the rest of it through from now on. */
  #keep(traceId: string): void {
    this.#kept.add(traceId);
    if (this.#kept.size > MAX_KEPT_TRACES) {
      for (const oldest of this.#kept) {
        this.#kept.delete(oldest);
        break;
      }
    }
    const since = this.#now() - HOLD_MS;
    this.#own.take(traceId, since, this.#handOn);
    this.#outside.take(traceId, since, this.#handOn);
  }
}
