import type { SpanRecord } from "../../model.ts";

const FIRST_CAPACITY = 256;

/** A FIFO ring buffer of spans with the size of each. It grows as it fills; `push` and `shift` are O(1). */
export class SpanRing {
  #spans: (SpanRecord | undefined)[] = new Array(FIRST_CAPACITY);
  #sizes = new Uint32Array(FIRST_CAPACITY);
  #first = 0;
  #count = 0;
  #bytes = 0;

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(span: SpanRecord, size: number): void {
    if (this.#count === this.#spans.length) this.#grow();
    const at = (this.#first + this.#count) % this.#spans.length;
    this.#spans[at] = span;
    this.#sizes[at] = size;
    this.#count += 1;
    this.#bytes += size;
  }

  shift(): SpanRecord | undefined {
    const span = this.#spans[this.#first];
    if (span === undefined) return undefined;
    this.#bytes -= this.#sizes[this.#first] ?? 0;
    this.#spans[this.#first] = undefined;
    this.#first = (this.#first + 1) % this.#spans.length;
    this.#count -= 1;
    return span;
  }

  get oldest(): SpanRecord | undefined {
    return this.#spans[this.#first];
  }

  /** Returns a copy of the references, oldest first. */
  toArray(): SpanRecord[] {
    const all: SpanRecord[] = [];
    for (let index = 0; index < this.#count; index += 1) {
      const span = this.#spans[(this.#first + index) % this.#spans.length];
      if (span !== undefined) all.push(span);
    }
    return all;
  }

  clear(): void {
    this.#spans = new Array(FIRST_CAPACITY);
    this.#sizes = new Uint32Array(FIRST_CAPACITY);
    this.#first = 0;
    this.#count = 0;
    this.#bytes = 0;
  }

  #grow(): void {
    const capacity = this.#spans.length;
    const spans = this.#spans.slice(this.#first).concat(this.#spans.slice(0, this.#first));
    const sizes = new Uint32Array(2 * capacity);
    sizes.set(this.#sizes.subarray(this.#first));
    sizes.set(this.#sizes.subarray(0, this.#first), capacity - this.#first);
    spans.length = 2 * capacity;
    this.#spans = spans;
    this.#sizes = sizes;
    this.#first = 0;
  }
}
