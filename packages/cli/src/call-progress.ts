import { showProgress } from "./progress.ts";
import type { Shell } from "./shell.ts";

/** A call that is answered sooner shows nothing. */
const QUIET_MS = 1_000;

/**
 * Makes a call that Ctrl-C cancels. On a terminal one that takes longer than a second shows its time, and how to cancel it. `title` says what goes
 * on, e.g. `Calling math::add`.
 */
export async function cancellable<Result>(shell: Shell, title: string, call: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const cancelled = new AbortController();
  let end = (): void => {};
  const begin = setTimeout(() => {
    if (shell.noteColumns === undefined) return;
    const progress = showProgress(shell, `${title}; Ctrl-C cancels.`);
    end = () => progress.end();
  }, QUIET_MS);
  // Once: at a second Ctrl-C the process ends by itself, whatever the call does.
  const forget = shell.onStopSignal(() => {
    forget();
    cancelled.abort();
  });
  try {
    return await call(cancelled.signal);
  } finally {
    clearTimeout(begin);
    end();
    forget();
  }
}
