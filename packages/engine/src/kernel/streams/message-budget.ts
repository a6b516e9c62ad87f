import type { Clock } from "../clock.ts";

/** Messages that a client may send at once, and for each second after that. */
const BURST = 1_000;
const PER_SECOND = 100;

/** How often one client may say something. */
export class MessageBudget {
  readonly #clock: Clock;
  #left = BURST;
  #lookedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lookedAt = clock.monotonic();
  }

  /** False when this message is one too many. */
  take(): boolean {
    const now = this.#clock.monotonic();
    this.#left = Math.min(BURST, this.#left + ((now - this.#lookedAt) / 1_000) * PER_SECOND);
    this.#lookedAt = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
