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

/**
 * Returns a function that returns the time by which ages are measured, in milliseconds since 1970: the wall clock, but after a jump forward the time that it
 * would show without the jump. So a jump removes nothing early, whether the clock was right before it or after it.
 */
export function ageClock(clock: Clock): () => number {
  const offset = clock.now() - clock.monotonic();
  return () => Math.min(clock.now(), Math.round(clock.monotonic() + offset));
}
