/** Share of the engine's time that the checks for one restricted principal may use in the long run. */
const SHARE = 0.1;
/** Maximum time that a principal may use at once, in milliseconds. */
const BURST_MS = 1_000;

/**
 * The time that the formats of one principal have used. It decreases over time. Times are in milliseconds on the
 * monotonic clock.
 */
export class TimeBudget {
  #usedMs = 0;
  #asOf = 0;

  isSpent(now: number): boolean {
    this.#decay(now);
    return this.#usedMs >= BURST_MS;
  }

  spend(ms: number, now: number): void {
    this.#decay(now);
    this.#usedMs += ms;
  }

  #decay(now: number): void {
    this.#usedMs = Math.max(0, this.#usedMs - (now - this.#asOf) * SHARE);
    this.#asOf = now;
  }
}
