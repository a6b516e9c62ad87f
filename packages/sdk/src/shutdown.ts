import type { Clock } from "./clock.ts";

/** Resolves when `work` does, or after `timeoutMs`, whichever comes first. `work` must not reject. */
export async function within(clock: Clock, timeoutMs: number, work: Promise<void>): Promise<void> {
  let cancelTimer: () => void = () => {};
  const timeUp = new Promise<void>((resolve) => {
    cancelTimer = clock.after(timeoutMs, resolve);
  });
  await Promise.race([work, timeUp]);
  cancelTimer();
}

/** Resolves when `ends` gives nothing to wait for any more: work in hand may beget work, so it looks again. Stops looking at `signal`. */
export async function quiet(ends: () => readonly Promise<void>[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const waits = ends();
    if (waits.length === 0) return;
    await Promise.all(waits);
  }
}
