import type { Clock } from "../kernel/clock.ts";
import { IntervalClock, JUMP_MS } from "../kernel/interval-clock.ts";
import type { BatchTime } from "./log-time.ts";

/**
 * Source of the time of a log, in the engine. Its time is the wall clock minus the jumps that the wall clock made since
 * the first start. So it passes as the monotonic clock does while the engine runs. Between two runs only the wall clock
 * is known: a jump forward counts as time that passed, and one back as none.
 */
export class LogClock {
  readonly #clock: IntervalClock;
  #skewMs: number;

  /** `stored`: the last time in the database. `onJump` is called when the wall clock was set. */
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
