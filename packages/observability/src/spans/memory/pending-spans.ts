import type { SpanRecord } from "../../telemetry-records.ts";

/** Maximum number of tracked pending spans; further ones are visible only after they end. */
const MAX_PENDING = 10_000;

/** Pending spans, unordered. An array: a long-lived Set leaves old tables behind that keep young objects alive. */
export class PendingSpans {
  readonly #spans: SpanRecord[] = [];

  /** Returns false if there is no room. */
  add(span: SpanRecord): boolean {
    if (this.#spans.length >= MAX_PENDING) return false;
    span.pendingPlace = this.#spans.length;
    this.#spans.push(span);
    return true;
  }

  /** Returns false if the span was not added. */
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
