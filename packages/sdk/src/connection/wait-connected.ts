import type { Clock } from "../clock.ts";
import { type Connection, type ConnectionState, notConnected } from "./connection.ts";

/** Maximum time to wait for the connection, in milliseconds, if the caller sets none. */
const DEFAULT_WAIT_MS = 30_000;

/**
 * Resolves when the connection is up. Rejects with `disconnected` after the timeout, or when the connection has failed
 * or was closed. There is one exception: if it was closed because the process is ending, the promise stays pending.
 * Otherwise a program that awaits it at its top level would crash with a stack trace.
 */
export function waitConnected(
  connection: Connection,
  onState: (listener: (state: ConnectionState) => void) => () => void,
  clock: Clock,
  {
    timeoutMs = DEFAULT_WAIT_MS,
    processIsEnding,
  }: { readonly timeoutMs: number | undefined; readonly processIsEnding: () => boolean },
): Promise<void> {
  return new Promise((resolve, reject) => {
    let cancelTimer: (() => void) | undefined;
    const settle = (state: ConnectionState): boolean => {
      if (state !== "connected" && state !== "failed" && state !== "closed") return false;
      stopListening();
      cancelTimer?.();
      if (state === "connected") resolve();
      else if (state === "failed") reject(notConnected(connection, "gave up connecting to"));
      else if (!processIsEnding()) reject(notConnected(connection, shutdownMessage(connection)));
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

function shutdownMessage({ wasConfirmed }: Connection): string {
  return wasConfirmed
    ? "the worker was shut down; it was connected to"
    : "the worker was shut down before it was connected to";
}
