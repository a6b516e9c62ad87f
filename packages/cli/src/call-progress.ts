import { type Progress, showProgress } from "./progress.ts";
import type { Shell } from "./shell.ts";
import { leaveInterruptedLine } from "./stop-requests.ts";

/** A call that is answered sooner shows nothing. */
const QUIET_MS = 1_000;

/**
 * Makes a call that Ctrl-C cancels. On a terminal one that takes longer than a second shows its time, and how to cancel it. `title` says what goes
 * on, e.g. `Calling math::add`.
 */
export async function cancellable<Result>(shell: Shell, title: string, call: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const cancelled = new AbortController();
  let progress: Progress | undefined;
  const begin = setTimeout(() => {
    if (shell.noteColumns === undefined) return;
    progress = showProgress(shell, `${title}; Ctrl-C cancels.`);
  }, QUIET_MS);
  // Once: at a second Ctrl-C the process ends by itself, whatever the call does.
  const forget = shell.onStopSignal((signal) => {
    forget();
    // The end of the progress wipes it away.
    if (progress === undefined) leaveInterruptedLine(shell, signal);
    cancelled.abort();
  });
  try {
    return await call(cancelled.signal);
  } finally {
    clearTimeout(begin);
    progress?.end();
    forget();
  }
}
