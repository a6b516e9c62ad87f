import type { Clock } from "./clock.ts";

/** A smaller difference is drift, which the system's time service corrects all the time. */
const JUMP_MS = 1_000;

/**
 * A wall clock that notices when it is set, for holders of stored durations.
 *
 * A duration that outlives a timer (a delay, a time to live, a retention) is kept as an instant of the wall clock. Each holder moves its instants by
 * `byMs` in `onJump`, so that the duration is measured by the monotonic clock. Between two runs of the engine only the wall clock is known: a jump
 * during that time counts as time that passed. A machine that slept counts as a jump where the monotonic clock stands still during sleep (Linux, macOS).
 */
export class IntervalClock implements Clock {
  readonly #clock: Clock;
  readonly #onJump: (byMs: number) => void;
  #offset: number;

  /** `onJump` receives how far the wall clock was set forward, or a negative number if it was set back. Milliseconds. */
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
      // Rounded, so that the sum of what was reported stays exact.
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
