import type { Clock } from "../clock.ts";

/** At most so many of something within each second. */
export class Allowance {
  readonly #clock: Clock;
  readonly #perSecond: number;
  #since = Number.NEGATIVE_INFINITY;
  #taken = 0;

  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
  }

  /** False when there is none left. */
  take(): boolean {
    const now = this.#clock.monotonicMs();
    if (now - this.#since >= 1_000) {
      this.#since = now;
      this.#taken = 0;
    }
    if (this.#taken >= this.#perSecond) return false;
    this.#taken++;
    return true;
  }
}
