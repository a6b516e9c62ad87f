import type { Clock } from "../../../kernel/clock.ts";

/** How often the wall clock is compared with the monotonic one, and what difference counts as a jump; milliseconds. */
const LOOK_MS = 1_000;
const JUMP_MS = 20;
/** As far as the wall clock, read in whole milliseconds, is from where the monotonic one says that it is, if nobody set it. */
const COARSE_MS = 2;
/** Times are counted in microseconds from their anchor, and stay small integers, which take no memory of their own, for half an hour. */
const ANCHOR_MS = 20 * 60_000;

/** Where the monotonic clock stands on the wall clock: `wall = offsetMs + monotonic`. Times of spans are microseconds after it. */
export class TimeAnchor {
  readonly offsetMs: number;
  readonly #baseMs: number;

  constructor(offsetMs: number, monotonicMs: number) {
    this.offsetMs = offsetMs;
    this.#baseMs = monotonicMs;
  }

  /** A moment of the monotonic clock, in whole microseconds after the anchor. */
  micros(monotonicMs: number): number {
    const us = Math.floor((monotonicMs - this.#baseMs) * 1_000);
    return us >= 0 && us < 0x4000_0000 ? us | 0 : us;
  }

  /** Milliseconds since 1970. */
  unixMs(micros: number): number {
    return this.offsetMs + this.#baseMs + micros / 1_000;
  }

  /** Nanoseconds since 1970. */
  unixNano(micros: number): bigint {
    return BigInt(Math.round((this.offsetMs + this.#baseMs) * 1_000)) * 1_000n + BigInt(micros) * 1_000n;
  }
}

/**
 * Times of spans: durations by the monotonic clock, starts by the wall clock as it stood then. One anchor serves until the wall clock is set, so that the
 * order of spans is that of the monotonic clock.
 */
export class SpanClock {
  anchor: TimeAnchor;
  readonly #clock: Clock;
  #lookAt: number;
  #renewAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    const monotonicMs = clock.monotonic();
    this.anchor = new TimeAnchor(offsetOf(clock), monotonicMs);
    this.#lookAt = monotonicMs + LOOK_MS;
    this.#renewAt = monotonicMs + ANCHOR_MS;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  /** The anchor for something that begins at `monotonicMs`, about now. */
  anchorAt(monotonicMs: number): TimeAnchor {
    if (monotonicMs >= this.#lookAt) {
      this.#lookAt = monotonicMs + LOOK_MS;
      const offsetMs = offsetOf(this.#clock);
      const hasJumped = Math.abs(offsetMs - this.anchor.offsetMs) > JUMP_MS;
      if (hasJumped || monotonicMs >= this.#renewAt) {
        // Without a jump the old offset goes on, so that the order of spans stays that of the monotonic clock.
        this.anchor = new TimeAnchor(hasJumped ? offsetMs : this.anchor.offsetMs, monotonicMs);
        this.#renewAt = monotonicMs + ANCHOR_MS;
      }
    }
    return this.anchor;
  }
}

/** Not by the wall clock alone, whose fractions are cut off: calls would begin before the spans of workers that made them, which are timed as here. */
function offsetOf(clock: Clock): number {
  const coarseMs = clock.now() - clock.monotonic();
  return clock.originMs !== undefined && Math.abs(clock.originMs - coarseMs) <= COARSE_MS ? clock.originMs : coarseMs;
}
