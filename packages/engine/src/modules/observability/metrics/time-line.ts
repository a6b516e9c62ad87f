import type { Clock } from "../../../kernel/clock.ts";

/** One sample each; the finest resolution, in milliseconds. */
export const STEP_MS = 5_000;
/** The wall clock and the monotonic one may differ by so much over one step before it counts as a jump. */
const TOLERANCE_MS = 2_500;

/**
 * Where samples lie. It follows the wall clock and never goes back: set back, what was sampled keeps its age and is shown earlier; set forward, or
 * after the machine slept, there is a stretch without samples.
 */
export class TimeLine {
  readonly #clock: Clock;
  #at: number;
  #monotonic: number;
  /** To be added to show a time. */
  #shift = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.now();
    this.#monotonic = clock.monotonic();
  }

  /** The present, as samples are stored by it, in milliseconds. */
  now(): number {
    const monotonic = this.#clock.monotonic();
    const wall = this.#clock.now();
    const expected = this.#at + monotonic - this.#monotonic;
    const off = wall - this.#shift - expected;
    // In whole steps, so that what is shown still lies on them.
    if (off < -TOLERANCE_MS) this.#shift += Math.round(off / STEP_MS) * STEP_MS;
    this.#monotonic = monotonic;
    this.#at = Math.max(this.#at, off < -TOLERANCE_MS ? expected : wall - this.#shift);
    return this.#at;
  }

  /** A stored time as milliseconds since 1970. */
  shown(at: number): number {
    return at + this.#shift;
  }

  /** The other way round. */
  stored(shownMs: number): number {
    return shownMs - this.#shift;
  }
}
