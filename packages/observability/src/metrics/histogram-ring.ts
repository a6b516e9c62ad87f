import { bytesOf, type HistogramCounts, mergeHistograms, trimmed } from "./histogram.ts";
import { PeriodRing } from "./period-ring.ts";
import { type Level, periodOf } from "./rollup-levels.ts";

/** Byte limit for the histograms of all series together. */
export interface ByteBudget {
  /** Takes bytes. Returns false if not enough are left. A negative number returns bytes to the budget. */
  take(bytes: number): boolean;
}

export class HistogramRing {
  readonly #level: Level;
  readonly #budget: ByteBudget;
  readonly #ring: PeriodRing;
  #slots: (HistogramCounts | undefined)[] = [];

  constructor(level: Level, budget: ByteBudget) {
    this.#level = level;
    this.#budget = budget;
    this.#ring = new PeriodRing(level.periods, {
      grow: (to, places) => {
        const grown = new Array<HistogramCounts | undefined>(to).fill(undefined);
        for (const [from, place] of places) grown[place] = this.#slots[from];
        this.#slots = grown;
      },
      empty: (slot) => this.#put(slot, undefined),
    });
  }

  add(at: number, counts: HistogramCounts): boolean {
    const slot = this.#ring.place(periodOf(at, this.#level));
    if (slot === -1) return true;
    const before = this.#slots[slot];
    return this.#put(slot, before === undefined ? trimmed(counts) : mergeHistograms(before, trimmed(counts)));
  }

  at(period: number): HistogramCounts | undefined {
    const slot = this.#ring.find(period);
    return slot === -1 ? undefined : this.#slots[slot];
  }

  /** Removes all counts and returns their bytes. */
  clear(): void {
    for (let slot = 0; slot < this.#slots.length; slot++) this.#put(slot, undefined);
  }

  #put(slot: number, counts: HistogramCounts | undefined): boolean {
    const before = this.#slots[slot];
    const more = (counts === undefined ? 0 : bytesOf(counts)) - (before === undefined ? 0 : bytesOf(before));
    if (!this.#budget.take(more)) return false;
    this.#slots[slot] = counts;
    return true;
  }
}
