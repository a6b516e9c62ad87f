import type { Clock } from "@svc-runtime/engine/module";

/** Interval of samples, which is also the finest resolution, in milliseconds. */
export const STEP_MS = 5_000;
/**
 * Maximum difference between the wall clock and the monotonic clock over one step, in milliseconds. A greater one means
 * that the wall clock was set.
 */
const TOLERANCE_MS = 2_500;

/**
 * The time axis of samples (stored time). It follows the wall clock but never goes back. If the wall clock is set back,
 * older samples keep their age and are shown at earlier times. If it is set forward, or after a suspend, the axis has a
 * gap without samples.
 */
export class TimeLine {
  readonly #clock: Clock;
  #at: number;
  #monotonic: number;
  #shift = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.now();
    this.#monotonic = clock.monotonic();
  }

  /** Returns the current time on this axis (stored time), in milliseconds. */
  now(): number {
    const monotonic = this.#clock.monotonic();
    const wall = this.#clock.now();
    const expected = this.#at + monotonic - this.#monotonic;
    const off = wall - this.#shift - expected;
    // The shift is a multiple of the step, so that shown times stay aligned to steps.
    if (off < -TOLERANCE_MS) this.#shift += Math.round(off / STEP_MS) * STEP_MS;
    this.#monotonic = monotonic;
    this.#at = Math.max(this.#at, off < -TOLERANCE_MS ? expected : wall - this.#shift);
    return this.#at;
  }

  /** Converts stored time to milliseconds since 1970. */
  shown(at: number): number {
    return at + this.#shift;
  }

  /** Converts milliseconds since 1970 to stored time. */
  stored(shownMs: number): number {
    return shownMs - this.#shift;
  }
}
