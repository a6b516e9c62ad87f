/** Limits the number of events per second. */
export class RateLimiter {
  readonly #perSecond: number;
  #since = Number.NEGATIVE_INFINITY;
  #taken = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Counts an event. Returns false if the limit is reached. `nowMs` is the time of a monotonic clock. */
  take(nowMs: number): boolean {
    if (nowMs - this.#since >= 1_000) {
      this.#since = nowMs;
      this.#taken = 0;
    }
    if (this.#taken >= this.#perSecond) return false;
    this.#taken++;
    return true;
  }
}
