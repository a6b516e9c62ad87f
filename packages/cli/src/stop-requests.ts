import { settleable } from "./settleable.ts";
import type { Shell, StopSignal } from "./shell.ts";

/** npm and npx pass the terminal's Ctrl-C on a second time; two requests this close are one key press. */
export const SAME_PRESS_MS = 1000;

export interface StopRequests {
  readonly first: Promise<StopSignal>;
  /** Resolves when the user asks again: at once, then. */
  readonly second: Promise<StopSignal>;
  forget(): void;
}

export interface Stopping {
  readonly signal: AbortSignal;
  /** Aborts, and listens no longer. */
  end(): void;
}

/** A signal that aborts when the user wants an end, for commands that have nothing to finish then. */
export function abortAtStop(shell: Shell): Stopping {
  const stop = new AbortController();
  const forget = shell.onStopSignal((signal) => {
    if (!stop.signal.aborted) leaveInterruptedLine(shell, signal);
    stop.abort();
  });
  return {
    signal: stop.signal,
    end: () => {
      forget();
      stop.abort();
    },
  };
}

/** The terminal has written `^C` where the cursor stood; what comes next, if only the prompt, begins a line of its own. */
export function leaveInterruptedLine(shell: Shell, signal: StopSignal): void {
  if (signal === "SIGINT" && shell.noteColumns !== undefined) shell.note("\n");
}

/** Collects requests to stop: signals and, with `stdin: "stops"`, the end of standard input. */
export function listenForStop(shell: Shell, options: { readonly stdin: "stops" | "ignored"; readonly nowMs: () => number }): StopRequests {
  const first = settleable<StopSignal>();
  const second = settleable<StopSignal>();
  let firstMs: number | undefined;
  const request = (signal: StopSignal): void => {
    if (firstMs === undefined) {
      firstMs = options.nowMs();
      leaveInterruptedLine(shell, signal);
      first.settle(signal);
    } else if (options.nowMs() - firstMs > SAME_PRESS_MS) {
      leaveInterruptedLine(shell, signal);
      second.settle(signal);
    }
  };
  const undos = [shell.onStopSignal(request)];
  if (options.stdin === "stops") undos.push(shell.onStdinEnd(() => request("stdin closed")));
  return {
    first: first.promise,
    second: second.promise,
    forget: () => {
      for (const undo of undos) undo();
    },
  };
}
