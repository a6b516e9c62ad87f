import type { Clock } from "../kernel/clock.ts";
import { IntervalClock, JUMP_MS } from "../kernel/interval-clock.ts";
import type { BatchTime } from "./log-time.ts";

/**
 * Source of the log time of a store (see `StoreTime.now`). Delays and expiries are measured in log time, because they
 * must not change when somebody sets the wall clock. Log time is the wall clock minus all jumps that the wall clock
 * made since the database was created. So it passes like the monotonic clock while the engine runs. While the engine
 * does not run, jumps cannot be detected: a wall clock that is ahead at the next start counts as time that passed. If
 * the wall clock is behind the stored one at that start, log time continues where it stopped.
 */
export class LogClock {
  readonly #clock: IntervalClock;
  #skewMs: number;

  /** `stored`: the last time in the database. `onJump` is called after somebody set the wall clock. */
  constructor(clock: Clock, stored: BatchTime | undefined, onJump: () => void) {
    this.#clock = new IntervalClock(clock, (byMs) => {
      this.#skewMs += byMs;
      onJump();
    });
    this.#skewMs = stored === undefined ? 0 : stored.wall - stored.now;
    const back = (stored?.wall ?? 0) - clock.now();
    if (back >= JUMP_MS) this.#skewMs -= back;
  }

  read(): BatchTime {
    const wall = this.#clock.now();
    return { now: wall - this.#skewMs, wall };
  }

  /** Returns how far the wall clock is ahead of the log's time, in milliseconds; negative if it is behind. */
  skewMs(): number {
    this.#clock.now();
    return this.#skewMs;
  }
}
