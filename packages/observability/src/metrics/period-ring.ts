/** Initial number of slots; it doubles as periods pass. */
const FIRST_SLOTS = 4;

export interface RingStorage {
  /** Grows to `to` slots. `places` maps old slots to new ones; the other new slots are empty. */
  grow(to: number, places: readonly (readonly [from: number, to: number])[]): void;
  empty(slot: number): void;
}

/** Assigns slots to the latest `limit` periods. Periods are consecutive integers; later ones replace earlier ones. */
export class PeriodRing {
  readonly limit: number;
  readonly #slots: RingStorage;
  #capacity = 0;
  #first = 0;
  #last = -1;

  constructor(limit: number, slots: RingStorage) {
    this.limit = limit;
    this.#slots = slots;
  }

  /** First and last period that may have data; `last` is less than `first` while there is none. */
  get first(): number {
    return this.#first;
  }

  get last(): number {
    return this.#last;
  }

  /** Returns the slot to write a period to; -1 if the period is too old. */
  place(period: number): number {
    if (this.#capacity === 0 || period - this.#last >= this.limit) this.#restart(period);
    if (period > this.#last) this.#advance(period);
    // Earlier than all data, e.g. a delayed sample.
    if (period < this.#first) return -1;
    return period % this.#capacity;
  }

  /** Returns the slot of a period; -1 if there is none. */
  find(period: number): number {
    return period < this.#first || period > this.#last ? -1 : period % this.#capacity;
  }

  #restart(period: number): void {
    if (this.#capacity === 0) {
      this.#capacity = Math.min(FIRST_SLOTS, this.limit);
      this.#slots.grow(this.#capacity, []);
    } else for (let slot = 0; slot < this.#capacity; slot++) this.#slots.empty(slot);
    this.#first = period;
    this.#last = period;
  }

  #advance(period: number): void {
    const needed = Math.min(this.limit, period - this.#first + 1);
    if (needed > this.#capacity) this.#grow(needed);
    for (let passed = this.#last + 1; passed <= period; passed++) this.#slots.empty(passed % this.#capacity);
    this.#last = period;
    this.#first = Math.max(this.#first, period - this.#capacity + 1);
  }

  #grow(needed: number): void {
    let to = this.#capacity;
    while (to < needed) to *= 2;
    to = Math.min(to, this.limit);
    const places: [number, number][] = [];
    for (let period = Math.max(this.#first, this.#last - this.#capacity + 1); period <= this.#last; period++)
      places.push([period % this.#capacity, period % to]);
    this.#slots.grow(to, places);
    this.#capacity = to;
  }
}
