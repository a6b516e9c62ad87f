import type { Clock } from "./clock.ts";
import { type Connection, type ConnectionState, notConnected } from "./connection.ts";

const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * Resolves when the connection stands; rejects with `disconnected` after the timeout, and when it is given up or closed. While the process is
 * ending it stays pending instead of rejecting for the close: nobody can do anything about that any more, and a program that waits at its top
 * level would die of it with a stack.
 */
export function connected(
  connection: Connection,
  onState: (listener: (state: ConnectionState) => void) => () => void,
  clock: Clock,
  { timeoutMs = DEFAULT_TIMEOUT_MS, processIsEnding }: { readonly timeoutMs: number | undefined; readonly processIsEnding: () => boolean },
): Promise<void> {
  return new Promise((resolve, reject) => {
    let cancelTimer: (() => void) | undefined;
    const settle = (state: ConnectionState): boolean => {
      if (state !== "connected" && state !== "failed" && state !== "closed") return false;
      stopListening();
      cancelTimer?.();
      if (state === "connected") resolve();
      else if (state === "failed") reject(notConnected(connection, "gave up connecting to"));
      else if (!processIsEnding()) reject(notConnected(connection, shutDownWords(connection)));
      return true;
    };
    const stopListening = onState(settle);
    if (settle(connection.state)) return;
    cancelTimer = clock.after(timeoutMs, () => {
      stopListening();
      reject(notConnected(connection, `not connected within ${timeoutMs} ms to`));
    });
  });
}

function shutDownWords({ wasConfirmed }: Connection): string {
  return wasConfirmed ? "the worker was shut down; it was connected to" : "the worker was shut down before it was connected to";
}
