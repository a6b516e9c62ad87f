import type { Clock } from "../../../kernel/clock.ts";

/** How often the wall clock is compared with the monotonic one, and what difference counts as a jump; milliseconds. */
const LOOK_MS = 1_000;
const JUMP_MS = 20;

/** Where the monotonic clock stands on the wall clock: `wall = offsetMs + monotonic`. */
export class TimeAnchor {
  readonly offsetMs: number;

  constructor(offsetMs: number) {
    this.offsetMs = offsetMs;
  }

  /** Nanoseconds since 1970 of a moment on the monotonic clock. */
  unixNano(monotonicMs: number): bigint {
    const ms = Math.floor(this.offsetMs);
    const rest = this.offsetMs - ms + monotonicMs;
    const whole = Math.floor(rest);
    // Apart, since both together have more digits than a number holds.
    return BigInt(ms + whole) * 1_000_000n + BigInt(Math.round((rest - whole) * 1_000_000));
  }
}

/**
 * Times of spans: durations by the monotonic clock, starts by the wall clock as it stood then. One anchor serves until the wall clock is set, so that the
 * order of spans is that of the monotonic clock.
 */
export class SpanClock {
  anchor: TimeAnchor;
  readonly #clock: Clock;
  #lookAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.anchor = new TimeAnchor(clock.now() - clock.monotonic());
    this.#lookAt = clock.monotonic() + LOOK_MS;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  /** The anchor for something that begins at `monotonicMs`, about now. */
  anchorAt(monotonicMs: number): TimeAnchor {
    if (monotonicMs >= this.#lookAt) {
      this.#lookAt = monotonicMs + LOOK_MS;
      const offsetMs = this.#clock.now() - this.#clock.monotonic();
      if (Math.abs(offsetMs - this.anchor.offsetMs) > JUMP_MS) this.anchor = new TimeAnchor(offsetMs);
    }
    return this.anchor;
  }
}
