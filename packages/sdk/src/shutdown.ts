import type { Clock } from "./clock.ts";

/** Resolves when `work` has resolved, or after `timeoutMs` milliseconds. `work` must not reject. */
export async function within(clock: Clock, timeoutMs: number, work: Promise<void>): Promise<void> {
  let cancelTimer: () => void = () => {};
  const timeUp = new Promise<void>((resolve) => {
    cancelTimer = clock.after(timeoutMs, resolve);
  });
  await Promise.race([work, timeUp]);
  cancelTimer();
}

/**
 * Resolves when `ends` returns an empty list. `ends` is called again after each wait, because running work may start
 * new work. Ends early when `signal` aborts.
 */
export async function whenIdle(ends: () => readonly Promise<void>[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const waits = ends();
    if (waits.length === 0) return;
    await Promise.all(waits);
  }
}
