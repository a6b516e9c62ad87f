import type { Shell, StopSignal } from "./shell.ts";

/**
 * Two requests within this time count as one key press, in milliseconds. npm and npx forward the Ctrl-C of the
 * terminal, so it arrives twice.
 */
export const SAME_PRESS_MS = 1000;

export interface StopRequests {
  readonly first: Promise<StopSignal>;
  /** Resolves when the user requests the stop a second time, to stop without finishing the work. */
  readonly second: Promise<StopSignal>;
  forget(): void;
}

export interface Stopping {
  readonly signal: AbortSignal;
  /** Aborts the signal and removes the listener. */
  end(): void;
}

/** Returns a signal that aborts when the user stops the command. It is for commands that have no work to finish. */
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

/** Prints a newline after the `^C` that the terminal wrote, so that the next output starts on its own line. */
export function leaveInterruptedLine(shell: Shell, signal: StopSignal): void {
  if (signal === "SIGINT" && shell.noteColumns !== undefined) shell.note("\n");
}

/** Listens for requests to stop. They are signals and, with `stdin: "stops"`, the end of standard input. */
export function listenForStop(
  shell: Shell,
  options: { readonly stdin: "stops" | "ignored"; readonly nowMs: () => number },
): StopRequests {
  const first = deferred<StopSignal>();
  const second = deferred<StopSignal>();
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

/** Returns a promise and the function that resolves it. */
export function deferred<Value>(): { readonly promise: Promise<Value>; settle(value: Value): void } {
  let settle: (value: Value) => void = () => {};
  const promise = new Promise<Value>((resolve) => {
    settle = resolve;
  });
  return { promise, settle: (value) => settle(value) };
}
