import type { SpanRecord } from "../../telemetry-records.ts";

const FIRST_CAPACITY = 256;

/**
 * A FIFO ring buffer of spans with their sizes. It grows when it is full. `push` and `shift` are O(1). Spans are
 * numbered in order of arrival; a number is never used again.
 */
export class SpanRing {
  #spans: (SpanRecord | undefined)[] = new Array(FIRST_CAPACITY);
  #sizes = new Uint32Array(FIRST_CAPACITY);
  /** Numbers of the spans in the ring from which they were moved. Undefined until such a span arrives. */
  #origins: Float64Array | undefined;
  /** Index of the oldest span. */
  #head = 0;
  #count = 0;
  #bytes = 0;
  #first = 0;

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Number of the oldest span. */
  get first(): number {
    return this.#first;
  }

  /** Number that the next span will get. */
  get end(): number {
    return this.#first + this.#count;
  }

  /** Adds a span. `origin` is its number in the ring from which it was moved. */
  push(span: SpanRecord, size: number, origin?: number): void {
    if (this.#count === this.#spans.length) this.#grow();
    const at = this.#indexOf(this.end);
    this.#spans[at] = span;
    this.#sizes[at] = size;
    if (origin !== undefined) {
      this.#origins ??= new Float64Array(this.#spans.length);
      this.#origins[at] = origin;
    }
    this.#count += 1;
    this.#bytes += size;
  }

  shift(): SpanRecord | undefined {
    const span = this.#spans[this.#head];
    if (span === undefined) return undefined;
    this.#bytes -= this.#sizes[this.#head] ?? 0;
    this.#spans[this.#head] = undefined;
    this.#head = (this.#head + 1) % this.#spans.length;
    this.#count -= 1;
    this.#first += 1;
    return span;
  }

  get oldest(): SpanRecord | undefined {
    return this.#spans[this.#head];
  }

  /** Returns a stored span by its number. */
  at(number: number): SpanRecord {
    return this.#spans[this.#indexOf(number)] as SpanRecord;
  }

  originAt(number: number): number {
    return this.#origins?.[this.#indexOf(number)] ?? 0;
  }

  clear(): void {
    this.#spans = new Array(FIRST_CAPACITY);
    this.#sizes = new Uint32Array(FIRST_CAPACITY);
    this.#origins = undefined;
    this.#head = 0;
    this.#first += this.#count;
    this.#count = 0;
    this.#bytes = 0;
  }

  #indexOf(number: number): number {
    return (this.#head + number - this.#first) % this.#spans.length;
  }

  #grow(): void {
    const capacity = this.#spans.length;
    const spans = this.#spans.slice(this.#head).concat(this.#spans.slice(0, this.#head));
    const inOrder = <Numbers extends Uint32Array | Float64Array>(from: Numbers, to: Numbers): Numbers => {
      to.set(from.subarray(this.#head));
      to.set(from.subarray(0, this.#head), capacity - this.#head);
      return to;
    };
    this.#sizes = inOrder(this.#sizes, new Uint32Array(2 * capacity));
    this.#origins = this.#origins && inOrder(this.#origins, new Float64Array(2 * capacity));
    spans.length = 2 * capacity;
    this.#spans = spans;
    this.#head = 0;
  }
}
