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

/** Collects requests to stop: signals and, with `stdin: "stops"`, the end of standard input. */
export function listenForStop(shell: Shell, options: { readonly stdin: "stops" | "ignored"; readonly nowMs: () => number }): StopRequests {
  const first = settleable<StopSignal>();
  const second = settleable<StopSignal>();
  let firstMs: number | undefined;
  const request = (signal: StopSignal): void => {
    if (firstMs === undefined) {
      firstMs = options.nowMs();
      first.settle(signal);
    } else if (options.nowMs() - firstMs > SAME_PRESS_MS) {
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
