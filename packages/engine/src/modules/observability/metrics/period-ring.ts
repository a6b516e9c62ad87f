/** Slots that are there from the beginning; it doubles as periods pass. */
const FIRST_SLOTS = 4;

/** Where a ring keeps what belongs to a period. */
export interface Slots {
  /** Makes room for `to` slots; `places` says which old slot goes where, and the other new ones are empty. */
  grow(to: number, places: readonly (readonly [from: number, to: number])[]): void;
  empty(slot: number): void;
}

/** Finds slots for the latest `limit` periods. Periods are whole numbers that count time; older ones make room for later ones. */
export class PeriodRing {
  readonly limit: number;
  readonly #slots: Slots;
  #capacity = 0;
  #first = 0;
  #last = -1;

  constructor(limit: number, slots: Slots) {
    this.limit = limit;
    this.#slots = slots;
  }

  /** The earliest and the latest period that may hold something; `last` is less than `first` while there is none. */
  get first(): number {
    return this.#first;
  }

  get last(): number {
    return this.#last;
  }

  /** The slot of a period that is to be written; -1 for one that is too old. */
  place(period: number): number {
    if (this.#capacity === 0 || period - this.#last >= this.limit) this.#begin(period);
    if (period > this.#last) this.#moveOn(period);
    // Earlier than anything so far, as after a stretch that came late.
    if (period < this.#first) return -1;
    return period % this.#capacity;
  }

  /** The slot of a period; -1 where there is none. */
  find(period: number): number {
    return period < this.#first || period > this.#last ? -1 : period % this.#capacity;
  }

  #begin(period: number): void {
    if (this.#capacity === 0) {
      this.#capacity = Math.min(FIRST_SLOTS, this.limit);
      this.#slots.grow(this.#capacity, []);
    } else for (let slot = 0; slot < this.#capacity; slot++) this.#slots.empty(slot);
    this.#first = period;
    this.#last = period;
  }

  #moveOn(period: number): void {
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
