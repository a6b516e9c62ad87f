import { type DropCounter, durationOf, type SpanRecord, type SpanSink } from "../model.ts";
import { CallRecord } from "./call-record.ts";
import { Deque } from "./deque.ts";

/** How long spans of traces that were not sampled wait for a reason to keep them, and how many; the oldest trace goes first. */
export const HOLD_MS = 10_000;
export const MAX_HELD_SPANS = 5_000;
/** Traces that turned out to be worth keeping and may have further spans. */
const MAX_KEPT_TRACES = 2_000;
const KEPT_FOR_MS = 60_000;

export interface KeepOptions {
  readonly keepErrors: boolean;
  /** Milliseconds; 0: none is kept for being slow. */
  readonly keepSlowMs: number;
}

/** What waits of one trace. Mostly that is one span, so that a list is made for the second. */
interface Held {
  readonly traceId: string;
  readonly sinceMs: number;
  readonly first: SpanRecord;
  more: SpanRecord[] | undefined;
  /** It was handed on, and only its place in the line is left. */
  released: boolean;
}

interface Kept {
  readonly traceId: string;
  readonly sinceMs: number;
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
  readonly #held = new Map<string, Held>();
  /** The oldest first. Beside the table, since to look for the first entry of a table takes as long as it had entries. */
  readonly #heldInOrder = new Deque<Held>();
  readonly #kept = new Set<string>();
  readonly #keptInOrder = new Deque<Kept>();
  #heldSpans = 0;

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
      if (this.#heldSpans > 0 && this.#isWorthwhile(span)) this.#keep(span.traceId, this.#now());
      this.#sink.ended(span);
      return;
    }
    const now = this.#now();
    this.#forgetOld(now);
    if (this.#kept.has(span.traceId)) {
      this.#sink.ended(span);
      return;
    }
    if (this.#isWorthwhile(span)) {
      this.#keep(span.traceId, now);
      this.#sink.ended(span);
      return;
    }
    this.#hold(span, now);
  }

  /** Forgets what waits, e.g. when everything is cleared. */
  clear(): void {
    this.#held.clear();
    this.#heldInOrder.clear();
    this.#kept.clear();
    this.#keptInOrder.clear();
    this.#heldSpans = 0;
  }

  #isWorthwhile(span: SpanRecord): boolean {
    const { keepErrors, keepSlowMs } = this.options;
    if (keepErrors && span.status === "error") return true;
    return keepSlowMs > 0 && durationOf(span) >= keepSlowMs;
  }

  #hold(span: SpanRecord, now: number): void {
    const { keepErrors, keepSlowMs } = this.options;
    if (!keepErrors && keepSlowMs === 0) return;
    const { traceId } = span;
    const held = this.#held.get(traceId);
    if (held === undefined) {
      const begun: Held = { traceId, sinceMs: now, first: span, more: undefined, released: false };
      this.#held.set(traceId, begun);
      this.#heldInOrder.push(begun);
    } else if (held.more === undefined) held.more = [span];
    else held.more.push(span);
    this.#heldSpans++;
    while (this.#heldSpans > MAX_HELD_SPANS) this.#forgetOldest("not_sampled_full");
  }

  /** Hands on what is held of the trace, and lets the rest of it through from now on. */
  #keep(traceId: string, now: number): void {
    if (!this.#kept.has(traceId)) {
      this.#kept.add(traceId);
      this.#keptInOrder.push({ traceId, sinceMs: now });
      if (this.#keptInOrder.length > MAX_KEPT_TRACES) this.#forgetKept();
    }
    const held = this.#held.get(traceId);
    if (held === undefined) return;
    this.#held.delete(traceId);
    this.#heldSpans -= sizeOf(held);
    held.released = true;
    for (const span of held.more === undefined ? [held.first] : [held.first, ...held.more]) {
      if (span instanceof CallRecord) span.unpack();
      this.#sink.ended(span);
    }
    held.more = undefined;
  }

  #forgetOld(now: number): void {
    for (let oldest = this.#heldInOrder.first; oldest !== undefined && now - oldest.sinceMs >= HOLD_MS; oldest = this.#heldInOrder.first) {
      this.#forgetOldest(undefined);
    }
    for (let oldest = this.#keptInOrder.first; oldest !== undefined && now - oldest.sinceMs >= KEPT_FOR_MS; oldest = this.#keptInOrder.first) {
      this.#forgetKept();
    }
  }

  /** `reason`: they might still have been worth keeping. */
  #forgetOldest(reason: string | undefined): void {
    const oldest = this.#heldInOrder.shift();
    if (oldest === undefined || oldest.released) return;
    this.#held.delete(oldest.traceId);
    const count = sizeOf(oldest);
    this.#heldSpans -= count;
    if (reason !== undefined) this.#drops?.dropped("spans", reason, count);
  }

  #forgetKept(): void {
    const oldest = this.#keptInOrder.shift();
    if (oldest !== undefined) this.#kept.delete(oldest.traceId);
  }
}

function sizeOf({ more }: Held): number {
  return 1 + (more?.length ?? 0);
}
