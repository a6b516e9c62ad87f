import { type DropCounter, durationOf, type SpanRecord, type SpanSink } from "../model.ts";

/** How long spans of traces that were not sampled wait for a reason to keep them, and how many; the oldest go first. */
export const HOLD_MS = 10_000;
export const MAX_HELD_SPANS = 5_000;
/** All of them together, as they tell their size: what workers send may have large attributes. */
export const MAX_HELD_BYTES = 16 * 1024 * 1024;
/** Traces that turned out to be worth keeping and may have further spans. */
const MAX_KEPT_TRACES = 2_000;
/** Digits of a trace id, from its end, that make a small integer. */
const KEY_DIGITS = 7;

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
  // A ring. Most that is held is dropped, so holding must cost next to nothing: what is worth keeping is looked for by its key, place after place.
  readonly #spans: (SpanRecord | undefined)[] = [];
  #keys = new Int32Array(0);
  #heldAt = new Float64Array(0);
  #sizes = new Int32Array(0);
  #first = 0;
  #places = 0;
  #heldSpans = 0;
  #heldBytes = 0;
  /** Trace ids, the first kept first. */
  readonly #kept = new Set<string>();

  constructor(sink: SpanSink, options: KeepOptions & { readonly now: () => number; readonly drops?: DropCounter | undefined }) {
    this.#sink = sink;
    this.options = options;
    this.#now = options.now;
    this.#drops = options.drops;
  }

  get heldSpans(): number {
    return this.#heldSpans;
  }

  started(span: SpanRecord): void {
    if (span.sampled) this.#sink.started(span);
  }

  ended(span: SpanRecord): void {
    if (span.sampled) {
      // What was sampled by its beginner may have parts that others did not sample.
      if (this.#heldSpans > 0 && this.#isWorthwhile(span)) this.#keep(span.traceId);
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
  #handOn(span: SpanRecord): void {
    span.unpack?.();
    this.#sink.ended(span);
  }

  /** Forgets what waits, e.g. when everything is cleared. */
  clear(): void {
    while (this.#places > 0) this.#dropFirst();
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
    if (this.#keys.length === 0) {
      this.#keys = new Int32Array(MAX_HELD_SPANS);
      this.#heldAt = new Float64Array(MAX_HELD_SPANS);
      this.#sizes = new Int32Array(MAX_HELD_SPANS);
    }
    const now = this.#now();
    while (this.#places > 0 && now - (this.#heldAt[this.#first] as number) >= HOLD_MS) this.#dropFirst();
    const { size } = span;
    while (this.#places === MAX_HELD_SPANS || (this.#places > 0 && this.#heldBytes + size > MAX_HELD_BYTES)) {
      if (this.#spans[this.#first] !== undefined) this.#drops?.dropped("spans", "not_sampled_full", 1);
      this.#dropFirst();
    }
    const at = (this.#first + this.#places) % MAX_HELD_SPANS;
    span.retain?.();
    this.#spans[at] = span;
    this.#keys[at] = keyOf(span.traceId);
    this.#heldAt[at] = now;
    this.#sizes[at] = size;
    this.#places++;
    this.#heldSpans++;
    this.#heldBytes += size;
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
    if (this.#heldSpans === 0) return;
    const key = keyOf(traceId);
    const oldest = this.#now() - HOLD_MS;
    for (let place = 0; place < this.#places; place++) {
      const at = (this.#first + place) % MAX_HELD_SPANS;
      if (this.#keys[at] !== key) continue;
      const span = this.#spans[at];
      if (span === undefined || (this.#heldAt[at] as number) <= oldest || span.traceId !== traceId) continue;
      this.#free(at);
      this.#handOn(span);
      span.release?.();
    }
    while (this.#places > 0 && this.#spans[this.#first] === undefined) this.#dropFirst();
  }

  #dropFirst(): void {
    const span = this.#spans[this.#first];
    if (span !== undefined) {
      this.#free(this.#first);
      span.release?.();
    }
    this.#first = (this.#first + 1) % MAX_HELD_SPANS;
    this.#places--;
  }

  #free(at: number): void {
    this.#spans[at] = undefined;
    this.#heldSpans--;
    this.#heldBytes -= this.#sizes[at] as number;
  }
}

/** Equal for equal trace ids; rarely for others. */
function keyOf(traceId: string): number {
  let key = 0;
  for (let at = traceId.length - KEY_DIGITS; at < traceId.length; at++) key = (key << 4) ^ traceId.charCodeAt(at);
  return key;
}
