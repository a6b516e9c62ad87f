import type { SpanRecord } from "../model.ts";

/** Number of digits at the end of a trace id that form the key, a small integer. */
const KEY_DIGITS = 7;

/**
 * A ring buffer of spans that wait for a sampling decision, oldest first. Most of them are dropped, so adding must be
 * cheap: the spans of a trace are found by a linear search over integer keys.
 */
export class HeldSpans {
  /** Number of spans in the buffer, and their total size in bytes. */
  count = 0;
  bytes = 0;
  readonly #capacity: number;
  readonly #spans: (SpanRecord | undefined)[] = [];
  #keys = new Int32Array(0);
  #heldAt = new Float64Array(0);
  #sizes = new Int32Array(0);
  #first = 0;
  /** Occupied slots, including those whose span was already taken. */
  #places = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get isFull(): boolean {
    return this.#places === this.#capacity;
  }

  /** The buffer must not be full. */
  add(span: SpanRecord, now: number): void {
    if (this.#keys.length === 0) {
      this.#keys = new Int32Array(this.#capacity);
      this.#heldAt = new Float64Array(this.#capacity);
      this.#sizes = new Int32Array(this.#capacity);
    }
    const at = this.#placeAfter(this.#places);
    const { size } = span;
    span.retain?.();
    this.#spans[at] = span;
    this.#keys[at] = keyOf(span.traceId);
    this.#heldAt[at] = now;
    this.#sizes[at] = size;
    this.#places++;
    this.count++;
    this.bytes += size;
  }

  /** Removes the spans of the trace that were added after `since`, and passes them on, oldest first. */
  take(traceId: string, since: number, forward: (span: SpanRecord) => void): void {
    if (this.count === 0) return;
    const key = keyOf(traceId);
    for (let place = 0; place < this.#places; place++) {
      const at = this.#placeAfter(place);
      if (this.#keys[at] !== key) continue;
      const span = this.#spans[at];
      if (span === undefined || (this.#heldAt[at] as number) <= since || span.traceId !== traceId) continue;
      this.#free(at);
      forward(span);
      span.release?.();
    }
    while (this.#places > 0 && this.#spans[this.#first] === undefined) this.dropFirst();
  }

  /** Drops the spans that were added at `time` or earlier. */
  dropUntil(time: number): void {
    while (this.#places > 0 && (this.#heldAt[this.#first] as number) <= time) this.dropFirst();
  }

  /** Frees the oldest slot. Returns true if it still held a span. */
  dropFirst(): boolean {
    const span = this.#spans[this.#first];
    if (span !== undefined) {
      this.#free(this.#first);
      span.release?.();
    }
    this.#first = this.#placeAfter(1);
    this.#places--;
    return span !== undefined;
  }

  clear(): void {
    while (this.#places > 0) this.dropFirst();
  }

  /** Avoids the modulo, which would cost as much as the rest. */
  #placeAfter(places: number): number {
    const at = this.#first + places;
    return at < this.#capacity ? at : at - this.#capacity;
  }

  #free(at: number): void {
    this.#spans[at] = undefined;
    this.count--;
    this.bytes -= this.#sizes[at] as number;
  }
}

/** Equal for equal trace ids; rarely equal for others. */
function keyOf(traceId: string): number {
  let key = 0;
  for (let at = traceId.length - KEY_DIGITS; at < traceId.length; at++) key = (key << 4) ^ traceId.charCodeAt(at);
  return key;
}
