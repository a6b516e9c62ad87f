/** Time comes in by this door, so that tests move it by hand. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. May jump. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. For deadlines and durations. */
  monotonic(): number;
  /** Where the monotonic clock began on the wall clock, as exactly as the system knows, if it knows: `now` counts whole milliseconds. Not told of jumps. */
  readonly originMs?: number;
  /** Runs `action` once after `ms` milliseconds. Returns how to call it off. Does not keep the process alive. */
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

/** Runs `action` every `ms` milliseconds until the returned function is called. A run starts only after the one before ended. */
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

/** How long the wall clock must have been ahead before a jump forward counts as a correction, in milliseconds. */
const CORRECTION_MS = 3_600_000;

/**
 * Returns a function that returns the time by which ages are measured, in milliseconds since 1970: the wall clock, but in the first hour after a jump forward
 * the time that it would show without the jump. So a clock that is wrong for a while removes nothing early, and one that was wrong when the engine started
 * keeps nothing indefinitely. The hour begins with the first call after the jump.
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
