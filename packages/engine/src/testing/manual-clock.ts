import type { Clock } from "../kernel/clock.ts";

/** A clock that stands still until it is moved. */
export interface ManualClock extends Clock {
  /** Moves on by `ms` and runs what came due on the way, in order of time. */
  advance(ms: number): void;
  /** Sets the wall clock without moving the monotonic one: a clock jump. */
  jumpTo(epochMs: number): void;
  /** Timers that have not run. */
  readonly pendingTimers: number;
}

export function manualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let monotonic = 0;
  let offset = startMs;
  const timers = new Set<{ readonly dueAt: number; readonly action: () => void }>();

  function nextDue(until: number): { readonly dueAt: number; readonly action: () => void } | undefined {
    let earliest: { readonly dueAt: number; readonly action: () => void } | undefined;
    for (const timer of timers) if (timer.dueAt <= until && (earliest === undefined || timer.dueAt < earliest.dueAt)) earliest = timer;
    return earliest;
  }

  return {
    now: () => offset + monotonic,
    monotonic: () => monotonic,
    after(ms, action) {
      const timer = { dueAt: monotonic + ms, action };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(ms) {
      const until = monotonic + ms;
      for (let timer = nextDue(until); timer !== undefined; timer = nextDue(until)) {
        timers.delete(timer);
        monotonic = Math.max(monotonic, timer.dueAt);
        timer.action();
      }
      monotonic = until;
    },
    jumpTo(epochMs) {
      offset = epochMs - monotonic;
    },
    get pendingTimers() {
      return timers.size;
    },
  };
}
