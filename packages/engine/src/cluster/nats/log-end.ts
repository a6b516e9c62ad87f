import type { Clock } from "../../kernel/clock.ts";
import { LogUnavailable } from "../../store/log.ts";

/**
 * Time in milliseconds after which a missing entry that was seen earlier counts as lost. Before that, the entry may be
 * missing because of a stale read: a deposed leader may serve stale reads for some seconds.
 */
export const SETTLE_MS = 15_000;

/**
 * The highest position that was seen in a log. It is a lower bound for the end of the log, and detects stale reads of
 * the end.
 */
export class LogEnd {
  readonly #clock: Clock;
  #highest = 0;
  /** Monotonic time since which the servers report an end below `#highest`. Undefined if they report no such end. */
  #behindSince: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes an entry that was seen earlier. The servers may have lost it. */
  sawEarlier(position: number): void {
    this.#highest = Math.max(this.#highest, position);
  }

  /** Notes an entry that the servers have now. */
  sawNow(position: number): void {
    if (position < this.#highest) return;
    this.#highest = position;
    this.#behindSince = undefined;
  }

  /**
   * Checks a reported end of the log. Throws LogUnavailable if it is below the highest seen position, for up to
   * `SETTLE_MS`: the report may be a stale read from a deposed leader.
   */
  check(last: number): void {
    if (last >= this.#highest) {
      this.#behindSince = undefined;
      return;
    }
    const now = this.#clock.monotonic();
    this.#behindSince ??= now;
    if (now - this.#behindSince < SETTLE_MS)
      throw new LogUnavailable(`a server answers that the log ends at ${last}, but it had ${this.#highest} entries`);
  }
}
