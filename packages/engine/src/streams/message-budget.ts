import type { Clock } from "../kernel/clock.ts";

/** Token bucket: number of messages at the beginning, and number of messages that are added per second. */
const BURST = 1_000;
const PER_SECOND = 100;

/** Rate limit for the messages of one client. */
export class MessageBudget {
  readonly #clock: Clock;
  #left = BURST;
  #lookedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lookedAt = clock.monotonic();
  }

  /** Returns false if the message exceeds the limit. */
  take(): boolean {
    const now = this.#clock.monotonic();
    this.#left = Math.min(BURST, this.#left + ((now - this.#lookedAt) / 1_000) * PER_SECOND);
    this.#lookedAt = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
