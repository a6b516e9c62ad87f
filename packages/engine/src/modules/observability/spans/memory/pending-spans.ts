import type { SpanRecord } from "../../model.ts";

/** Spans that run are remembered up to this number; of further ones only the end is told. */
const MAX_PENDING = 10_000;

/**
 * Spans that have not ended, in no order. An array and not a Set: a Set that lives long and is written at each call leaves tables behind that hold on to
 * young objects.
 */
export class PendingSpans {
  readonly #spans: SpanRecord[] = [];

  /** False when there is no room. */
  add(span: SpanRecord): boolean {
    if (this.#spans.length >= MAX_PENDING) return false;
    span.pendingPlace = this.#spans.length;
    this.#spans.push(span);
    return true;
  }

  /** False for one that was not added. */
  remove(span: SpanRecord): boolean {
    const place = span.pendingPlace;
    if (place === undefined || this.#spans[place] !== span) return false;
    const last = this.#spans.pop();
    if (last === undefined || last === span) return true;
    this.#spans[place] = last;
    last.pendingPlace = place;
    return true;
  }

  [Symbol.iterator](): Iterator<SpanRecord> {
    return this.#spans[Symbol.iterator]();
  }
}
