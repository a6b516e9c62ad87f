import type { SpanRecord } from "../../model.ts";

/** Spans that run are remembered up to this number; of further ones only the end is told. */
const MAX_PENDING = 10_000;

/**
 * Spans that have not ended, in no order. An array and not a Set: a Set that lives long and is written at each call leaves tables behind that hold on to
 * young objects.
 */
export class PendingSpans {
  readonly #spans: SpanRecord[] = [];

  add(span: SpanRecord): void {
    if (this.#spans.length >= MAX_PENDING) return;
    span.pendingPlace = this.#spans.length;
    this.#spans.push(span);
  }

  /** Does nothing for one that was not added. */
  remove(span: SpanRecord): void {
    const place = span.pendingPlace;
    if (place === undefined || this.#spans[place] !== span) return;
    const last = this.#spans.pop();
    if (last === undefined || last === span) return;
    this.#spans[place] = last;
    last.pendingPlace = place;
  }

  [Symbol.iterator](): Iterator<SpanRecord> {
    return this.#spans[Symbol.iterator]();
  }
}
