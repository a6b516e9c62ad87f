/** Source of time. Injected, so that tests control it. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. May jump. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. For deadlines and durations. */
  monotonic(): number;
  /**
   * Wall-clock time at which the monotonic clock was 0, with fractions of a millisecond, which `now` does not have.
   * Does not change when the wall clock jumps. Undefined if it is not known.
   */
  readonly originMs?: number;
  /**
   * Runs `action` once after `ms` milliseconds. Returns a function that cancels it. Does not keep the process alive.
   */
  after(ms: number, action: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  originMs: performance.timeOrigin,
  after(ms, action) {
    const timer = setTimeout(action, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Runs `action` every `ms` milliseconds until the returned function is called. The next run is scheduled when the
 * previous one has ended.
 */
export function every(clock: Clock, ms: number, action: () => void): () => void {
  let cancel = clock.after(ms, tick);
  let stopped = false;
  function tick(): void {
    action();
    if (!stopped) cancel = clock.after(ms, tick);
  }
  return () => {
    stopped = true;
    cancel();
  };
}

/** How long the wall clock must stay ahead before a jump forward counts as a correction, in milliseconds. */
const CORRECTION_MS = 3_600_000;

/**
 * Returns a clock for measuring ages, in milliseconds since 1970. It follows the wall clock, but ignores a jump forward
 * for one hour. So nothing expires early if the wall clock is wrong for less than an hour. After the hour, the jump
 * counts as a correction of a clock that was wrong before, so that entries do not stay indefinitely. The hour begins
 * with the first call after the jump.
 */
export function ageClock(clock: Clock): () => number {
  let offset = clock.now() - clock.monotonic();
  let aheadSince: number | undefined;
  return () => {
    const [now, monotonic] = [clock.now(), clock.monotonic()];
    const withoutJump = Math.round(monotonic + offset);
    if (now <= withoutJump) {
      aheadSince = undefined;
      return now;
    }
    aheadSince ??= monotonic;
    if (monotonic - aheadSince < CORRECTION_MS) return withoutJump;
    offset = now - monotonic;
    aheadSince = undefined;
    return now;
  };
}
