import type { Clock } from "../kernel/clock.ts";

/** Settles like the promise, or rejects with the signal's reason if it aborts first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Resolves after `ms` milliseconds. Rejects with the signal's reason if it aborts first. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  let cancel = (): void => {};
  const over = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  return orAborted(over, signal).finally(cancel);
}
