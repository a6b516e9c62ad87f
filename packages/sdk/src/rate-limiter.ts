import type { Clock } from "./clock.ts";

/** Limits the number of events per second. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #perSecond: number;
  #since = Number.NEGATIVE_INFINITY;
  #taken = 0;

  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
  }

  /** Returns false if the limit is reached. */
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
