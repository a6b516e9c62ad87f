import type { Clock } from "../../kernel/clock.ts";
import { LogUnavailable } from "../../store/log.ts";

/**
 * How long a log may lack an entry that was seen, in milliseconds, until the entry counts as lost. A former leader
 * answers for some seconds after it lost its majority.
 */
export const SETTLE_MS = 15_000;

/** Where a log ends at least, by the entries that were seen of it. */
export class LogEnd {
  readonly #clock: Clock;
  #highest = 0;
  /** Since when the log ends before it, on the monotonic clock. */
  #behindSince: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes an entry that was seen earlier. The servers may have lost it. */
  known(position: number): void {
    this.#highest = Math.max(this.#highest, position);
  }

  /** Notes an entry that the servers have now. */
  seen(position: number): void {
    if (position < this.#highest) return;
    this.#highest = position;
    this.#behindSince = undefined;
  }

  /**
   * Takes an answer about the end of the log. Throws LogUnavailable while an answer without entries that were seen may
   * be that of a former leader.
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
