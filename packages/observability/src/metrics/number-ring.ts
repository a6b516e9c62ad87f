import { PeriodRing } from "./period-ring.ts";
import { type Level, periodOf } from "./rollup-levels.ts";

export interface NumberCounts {
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

const COUNT = 0;
const SUM = 1;
const MIN = 2;
const MAX = 3;
const COLUMNS = 4;

/** A ring buffer with count, sum, minimum and maximum by period. */
export class NumberRing {
  readonly #level: Level;
  readonly #ring: PeriodRing;
  #data = new Float64Array(0);

  constructor(level: Level) {
    this.#level = level;
    this.#ring = new PeriodRing(level.periods, {
      grow: (to, places) => {
        const grown = new Float64Array(to * COLUMNS);
        for (const [from, place] of places)
          grown.set(this.#data.subarray(from * COLUMNS, (from + 1) * COLUMNS), place * COLUMNS);
        this.#data = grown;
      },
      empty: (slot) => this.#data.fill(0, slot * COLUMNS, (slot + 1) * COLUMNS),
    });
  }

  add(at: number, value: number): void {
    const slot = this.#ring.place(periodOf(at, this.#level));
    if (slot === -1) return;
    const data = this.#data;
    const row = slot * COLUMNS;
    const isFirst = data[row + COUNT] === 0;
    data[row + COUNT] = (data[row + COUNT] as number) + 1;
    data[row + SUM] = (data[row + SUM] as number) + value;
    data[row + MIN] = isFirst ? value : Math.min(data[row + MIN] as number, value);
    data[row + MAX] = isFirst ? value : Math.max(data[row + MAX] as number, value);
  }

  /** Returns the numbers of a period; undefined if nothing was sampled in it. */
  at(period: number): NumberCounts | undefined {
    const slot = this.#ring.find(period);
    const row = slot * COLUMNS;
    const count = slot === -1 ? 0 : (this.#data[row + COUNT] as number);
    if (count === 0) return undefined;
    return {
      count,
      sum: this.#data[row + SUM] as number,
      min: this.#data[row + MIN] as number,
      max: this.#data[row + MAX] as number,
    };
  }
}

export function mergeNumbers(a: NumberCounts | undefined, b: NumberCounts | undefined): NumberCounts | undefined {
  if (a === undefined) return b;
  if (b === undefined) return a;
  return { count: a.count + b.count, sum: a.sum + b.sum, min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}
