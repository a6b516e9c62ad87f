import type { SpanRecord } from "../model.ts";

/** Digits of a trace id, from its end, that make a small integer. */
const KEY_DIGITS = 7;

/**
 * A ring of spans that wait, the oldest first. Most that is held is dropped, so holding must cost next to nothing: what is worth keeping is looked for by its
 * key, place after place.
 */
export class HeldSpans {
  /** How many are held, and how large they are together. */
  count = 0;
  bytes = 0;
  readonly #capacity: number;
  readonly #spans: (SpanRecord | undefined)[] = [];
  #keys = new Int32Array(0);
  #heldAt = new Float64Array(0);
  #sizes = new Int32Array(0);
  #first = 0;
  /** Taken ones, those included whose span went on already. */
  #places = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get isFull(): boolean {
    return this.#places === this.#capacity;
  }

  /** It must not be full. */
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

  /** Hands over what is held of the trace since then, the oldest first. */
  take(traceId: string, since: number, handOn: (span: SpanRecord) => void): void {
    if (this.count === 0) return;
    const key = keyOf(traceId);
    for (let place = 0; place < this.#places; place++) {
      const at = this.#placeAfter(place);
      if (this.#keys[at] !== key) continue;
      const span = this.#spans[at];
      if (span === undefined || (this.#heldAt[at] as number) <= since || span.traceId !== traceId) continue;
      this.#free(at);
      handOn(span);
      span.release?.();
    }
    while (this.#places > 0 && this.#spans[this.#first] === undefined) this.dropFirst();
  }

  /** Drops what has been held since then or earlier. */
  dropUntil(time: number): void {
    while (this.#places > 0 && (this.#heldAt[this.#first] as number) <= time) this.dropFirst();
  }

  /** Whether a span went with the oldest place. */
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

  /** Without a division, which costs as much as the rest. */
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

/** Equal for equal trace ids; rarely for others. */
function keyOf(traceId: string): number {
  let key = 0;
  for (let at = traceId.length - KEY_DIGITS; at < traceId.length; at++) key = (key << 4) ^ traceId.charCodeAt(at);
  return key;
}
