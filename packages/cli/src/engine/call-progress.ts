import type { Shell } from "../shell.ts";
import { leaveInterruptedLine } from "../stop-requests.ts";
import { type Progress, showProgress } from "../terminal/progress.ts";

/** Calls shorter than this show no progress. */
const QUIET_MS = 1_000;

/**
 * Makes a call that Ctrl-C cancels. On a terminal, a call longer than a second shows its elapsed time and how to cancel
 * it. `title` describes the call, e.g. `Calling math::add`.
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
  // Handles one signal only: a second Ctrl-C ends the process, whatever the call does.
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
