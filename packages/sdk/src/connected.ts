import type { Clock } from "./clock.ts";
import { type Connection, type ConnectionState, notConnected } from "./connection.ts";

const DEFAULT_TIMEOUT_MS = 30_000;

/** Resolves when the connection stands; rejects with `disconnected` after the timeout, and when it is given up or closed. */
export function connected(
  connection: Connection,
  onState: (listener: (state: ConnectionState) => void) => () => void,
  clock: Clock,
  timeoutMs = DEFAULT_TIMEOUT_MS,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let cancelTimer: (() => void) | undefined;
    const settle = (state: ConnectionState): boolean => {
      if (state !== "connected" && state !== "failed" && state !== "closed") return false;
      stopListening();
      cancelTimer?.();
      if (state === "connected") resolve();
      else reject(notConnected(connection, state === "failed" ? "gave up connecting to" : "the worker was shut down; it was connected to"));
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
