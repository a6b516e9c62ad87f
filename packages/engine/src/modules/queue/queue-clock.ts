import type { Clock } from "../../kernel/clock.ts";

/** Less than this is drift, which the system's time service corrects all the time. */
const JUMP_MS = 1_000;

/**
 * The wall clock, with its jumps noticed: what was asked for as a duration (a delay, a back-off, a time to live) is kept as an instant, and has to move
 * along when the clock is set.
 */
export class QueueClock {
  readonly #clock: Clock;
  readonly #onJump: (byMs: number) => void;
  #offset: number;

  constructor(clock: Clock, onJump: (byMs: number) => void) {
    this.#clock = clock;
    this.#onJump = onJump;
    this.#offset = clock.now() - clock.monotonic();
  }

  /** Milliseconds since 1970. A jump since the last look is told before it answers. */
  now(): number {
    const now = this.#clock.now();
    const offset = now - this.#clock.monotonic();
    const byMs = offset - this.#offset;
    if (Math.abs(byMs) >= JUMP_MS) {
      this.#offset = offset;
      this.#onJump(Math.round(byMs));
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
