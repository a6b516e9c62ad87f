/** Initial number of slots. It doubles when more periods need a slot. */
const FIRST_SLOTS = 4;

export interface RingStorage {
  /** Grows to `to` slots. `places` maps old slots to new ones. New slots without an old one are empty. */
  grow(to: number, places: readonly (readonly [from: number, to: number])[]): void;
  empty(slot: number): void;
}

/**
 * Assigns slots to the latest `limit` periods. Periods are consecutive integers. A new period gets the slot of the
 * oldest one.
 */
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

  /** First period that may have data. `last` is less than `first` if there is no data. */
  get first(): number {
    return this.#first;
  }

  get last(): number {
    return this.#last;
  }

  /** Returns the slot in which to write a period; -1 if the period is too old. */
  place(period: number): number {
    if (this.#capacity === 0 || period - this.#last >= this.limit) this.#restart(period);
    if (period > this.#last) this.#advance(period);
    // The period is earlier than all data, for example because a sample was delayed.
    if (period < this.#first) return -1;
    return period % this.#capacity;
  }

  /** Returns the slot of a period; -1 if it has none. */
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
