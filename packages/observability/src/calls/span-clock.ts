import type { Clock } from "@svc-runtime/engine/module";

/** Interval at which the wall clock is compared with the monotonic clock, in milliseconds. */
const CHECK_MS = 1_000;
/** Differences from this value on, in milliseconds, are a jump of the wall clock. */
const JUMP_MS = 20;
/**
 * Differences up to this value, in milliseconds, are not a jump, because the wall clock is read in whole milliseconds.
 */
const COARSE_MS = 2;
/**
 * Lifetime of an anchor, in milliseconds. It is under half an hour, because V8 stores microseconds since the anchor as
 * small integers, without heap allocation, for about that long.
 */
const ANCHOR_MS = 20 * 60_000;

/** Maps the monotonic clock to the wall clock: `wall = offsetMs + monotonic`. */
export class TimeAnchor {
  readonly offsetMs: number;
  readonly #baseMs: number;

  constructor(offsetMs: number, monotonicMs: number) {
    this.offsetMs = offsetMs;
    this.#baseMs = monotonicMs;
  }

  /** Converts a time of the monotonic clock to whole microseconds after the anchor. */
  micros(monotonicMs: number): number {
    const us = Math.floor((monotonicMs - this.#baseMs) * 1_000);
    return us >= 0 && us < 0x4000_0000 ? us | 0 : us;
  }

  /** Converts to milliseconds since 1970. */
  unixMs(micros: number): number {
    return this.offsetMs + this.#baseMs + micros / 1_000;
  }

  /** Converts to nanoseconds since 1970. */
  unixNano(micros: number): bigint {
    return BigInt(Math.round((this.offsetMs + this.#baseMs) * 1_000)) * 1_000n + BigInt(micros) * 1_000n;
  }
}

/**
 * Clock for the times of spans: durations come from the monotonic clock, start times from the wall clock. The same
 * offset between the two clocks is used until the wall clock jumps, so that the order of spans follows the monotonic
 * clock.
 */
export class SpanClock {
  anchor: TimeAnchor;
  readonly #clock: Clock;
  #nextCheckAt: number;
  #renewAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    const monotonicMs = clock.monotonic();
    this.anchor = new TimeAnchor(offsetOf(clock), monotonicMs);
    this.#nextCheckAt = monotonicMs + CHECK_MS;
    this.#renewAt = monotonicMs + ANCHOR_MS;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  /** Returns the anchor for a span that begins at `monotonicMs`, about now. */
  anchorAt(monotonicMs: number): TimeAnchor {
    if (monotonicMs >= this.#nextCheckAt) {
      this.#nextCheckAt = monotonicMs + CHECK_MS;
      const offsetMs = offsetOf(this.#clock);
      const hasJumped = Math.abs(offsetMs - this.anchor.offsetMs) > JUMP_MS;
      if (hasJumped || monotonicMs >= this.#renewAt) {
        // Without a jump, the new anchor keeps the old offset, so that the order of spans still follows the monotonic
        // clock.
        this.anchor = new TimeAnchor(hasJumped ? offsetMs : this.anchor.offsetMs, monotonicMs);
        this.#renewAt = monotonicMs + ANCHOR_MS;
      }
    }
    return this.anchor;
  }
}

/**
 * Returns the offset between the two clocks. Prefers the clock's origin, because `now()` cuts off fractions of
 * milliseconds: calls would seem to begin before the spans of the workers that made them, which use the origin too.
 */
function offsetOf(clock: Clock): number {
  const coarseMs = clock.now() - clock.monotonic();
  return clock.originMs !== undefined && Math.abs(clock.originMs - coarseMs) <= COARSE_MS ? clock.originMs : coarseMs;
}
