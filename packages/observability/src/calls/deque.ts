const FIRST_PLACES = 16;

/**
 * A FIFO queue in a ring buffer that doubles when it is full. Removing the first item does not move the other items.
 */
export class Deque<T> {
  #ring: (T | undefined)[] = new Array<T | undefined>(FIRST_PLACES);
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get first(): T | undefined {
    return this.#length === 0 ? undefined : this.#ring[this.#head];
  }

  /** Returns the item at `index`, counted from the first. */
  at(index: number): T | undefined {
    return index < this.#length ? this.#ring[(this.#head + index) & (this.#ring.length - 1)] : undefined;
  }

  push(item: T): void {
    if (this.#length === this.#ring.length) this.#double();
    this.#ring[(this.#head + this.#length) & (this.#ring.length - 1)] = item;
    this.#length++;
  }

  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const item = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#length--;
    return item;
  }

  clear(): void {
    this.#ring = new Array<T | undefined>(FIRST_PLACES);
    this.#head = 0;
    this.#length = 0;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let at = 0; at < this.#length; at++) yield this.#ring[(this.#head + at) & (this.#ring.length - 1)] as T;
  }

  #double(): void {
    const ordered = [...this];
    ordered.length = this.#ring.length * 2;
    this.#ring = ordered;
    this.#head = 0;
  }
}
