import type { SpanRecord } from "../../telemetry-records.ts";

/** Maximum number of tracked pending spans. Spans beyond it are visible only after they end. */
const MAX_PENDING = 10_000;

/**
 * Pending spans, in no order. It uses an array, because a long-lived Set leaves old hash tables behind, which keep
 * newer objects in memory.
 */
export class PendingSpans {
  readonly #spans: SpanRecord[] = [];

  /** Adds a span. Returns false if there is no room. */
  add(span: SpanRecord): boolean {
    if (this.#spans.length >= MAX_PENDING) return false;
    span.pendingPlace = this.#spans.length;
    this.#spans.push(span);
    return true;
  }

  /** Removes a span. Returns false if it was not added. */
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
