import type { Clock } from "../kernel/clock.ts";
import { ManualTimers } from "../test-kit/manual-timers.ts";

/** A clock that only moves on demand. */
export interface ManualClock extends Clock {
  /** Advances by `ms` and runs due timers in order of time. */
  advance(ms: number): void;
  /** Sets the wall clock without moving the monotonic one: a clock jump. */
  jumpTo(epochMs: number): void;
  /** Number of pending timers. */
  readonly pendingTimers: number;
}

export function manualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  const timers = new ManualTimers(startMs);
  return {
    now: () => timers.now(),
    monotonic: () => timers.monotonic(),
    after: (ms, action) => timers.after(ms, action),
    advance(ms) {
      const until = timers.monotonic() + ms;
      while (timers.step(until));
    },
    jumpTo: (epochMs) => timers.jumpTo(epochMs),
    get pendingTimers() {
      return timers.pending;
    },
  };
}
