import type { SpanRecord } from "../telemetry-records.ts";
import { Deque } from "./deque.ts";
import { traceKeyOf } from "./trace-ids.ts";

interface HeldSpan {
  /** Undefined after the span was removed from the queue. */
  span: SpanRecord | undefined;
  readonly key: number;
  readonly heldAt: number;
  readonly size: number;
}

/**
 * A queue of spans that wait for a sampling decision, oldest first. Most spans are dropped, so adding must be cheap:
 * there is no index by trace, and `take` searches all integer keys. Typed arrays instead of objects made no difference:
 * 3 % of a call's CPU, which is within the noise of `npm run bench -- --rows 23`.
 */
export class HeldSpans {
  /** Number of spans in the queue, and their total size in bytes. */
  count = 0;
  bytes = 0;
  readonly #capacity: number;
  /** Queued spans. Includes places whose span was already removed by `take`. */
  readonly #places = new Deque<HeldSpan>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get isFull(): boolean {
    return this.#places.length === this.#capacity;
  }

  /** Adds a span. The queue must not be full. */
  add(span: SpanRecord, now: number): void {
    const { size } = span;
    span.retain?.();
    this.#places.push({ span, key: traceKeyOf(span.traceId), heldAt: now, size });
    this.count++;
    this.bytes += size;
  }

  /** Removes the spans of the trace that were added after `since`, and passes each to `forward`, oldest first. */
  take(traceId: string, since: number, forward: (span: SpanRecord) => void): void {
    if (this.count === 0) return;
    const key = traceKeyOf(traceId);
    for (let at = 0; at < this.#places.length; at++) {
      const held = this.#places.at(at);
      if (held?.key !== key || held.heldAt <= since || held.span?.traceId !== traceId) continue;
      const { span } = held;
      this.#free(held);
      forward(span);
      span.release?.();
    }
    while (this.#places.first !== undefined && this.#places.first.span === undefined) this.dropFirst();
  }

  /** Drops the spans that were added at `time` or earlier. */
  dropUntil(time: number): void {
    while (this.#places.first !== undefined && this.#places.first.heldAt <= time) this.dropFirst();
  }

  /** Removes the oldest place. Returns true if it still had a span. */
  dropFirst(): boolean {
    const held = this.#places.shift();
    const span = held?.span;
    if (held === undefined || span === undefined) return false;
    this.#free(held);
    span.release?.();
    return true;
  }

  clear(): void {
    while (this.#places.length > 0) this.dropFirst();
  }

  #free(held: HeldSpan): void {
    held.span = undefined;
    this.count--;
    this.bytes -= held.size;
  }
}
