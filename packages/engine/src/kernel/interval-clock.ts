import type { Clock } from "./clock.ts";

/**
 * Minimum jump of the wall clock that is reported, in milliseconds. Smaller differences are drift, which the system's
 * time service corrects continuously.
 */
export const JUMP_MS = 1_000;

/**
 * A wall clock that detects when it is set, for code that stores durations.
 *
 * A duration that must survive a restart (a delay, a time to live, a retention) is measured by the monotonic clock
 * while the engine runs. `store/log-clock.ts` does this for stores. Code that keeps wall-clock times in memory adds the
 * `byMs` of each jump to these times. On systems whose monotonic clock stops during sleep (Linux, macOS), sleep counts
 * as a jump.
 */
export class IntervalClock implements Clock {
  readonly #clock: Clock;
  readonly #onJump: (byMs: number) => void;
  #offset: number;

  /** `onJump` receives how far the wall clock was set forward, in milliseconds; negative if it was set back. */
  constructor(clock: Clock, onJump: (byMs: number) => void) {
    this.#clock = clock;
    this.#onJump = onJump;
    this.#offset = clock.now() - clock.monotonic();
  }

  /** Returns milliseconds since 1970. Calls `onJump` first if the wall clock was set since the last call. */
  now(): number {
    const now = this.#clock.now();
    const byMs = Math.round(now - this.#clock.monotonic() - this.#offset);
    if (Math.abs(byMs) >= JUMP_MS) {
      // The rounded number is added, because that is what is reported. So the reported jumps have the exact sum.
      this.#offset += byMs;
      this.#onJump(byMs);
    }
    return now;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(ms: number, action: () => void): () => void {
    return this.#clock.after(ms, action);
  }
}
