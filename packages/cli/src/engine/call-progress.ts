import type { Shell } from "../shell.ts";
import { leaveInterruptedLine } from "../stop-requests.ts";
import { type Progress, showProgress } from "../terminal/progress.ts";

/** Calls that take less than this time show no progress, in milliseconds. */
const QUIET_MS = 1_000;

/**
 * Makes a call that the user can cancel with Ctrl-C. On a terminal, a call that takes longer than a second shows its
 * elapsed time and how to cancel it. `title` describes the call, e.g. `Calling math::add`.
 */
export async function cancellable<Result>(
  shell: Shell,
  title: string,
  call: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const cancelled = new AbortController();
  let progress: Progress | undefined;
  const begin = setTimeout(() => {
    if (shell.noteColumns === undefined) return;
    progress = showProgress(shell, `${title}; Ctrl-C cancels.`);
  }, QUIET_MS);
  // Only one signal is handled, so that a second Ctrl-C ends the process even if the call ignores the first one.
  const forget = shell.onStopSignal((signal) => {
    forget();
    // `progress.end()` clears the line itself.
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
