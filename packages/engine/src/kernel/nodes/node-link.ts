import type { Undo } from "../scope.ts";

/**
 * Carries messages between the runs of a cluster's engines. A run is one life of an engine's process. `PeerTable` adds
 * what an implementation does not promise: that messages are neither lost nor repeated.
 *
 * Guarantees of an implementation (`testing/link-suite.ts` checks them):
 * - **Addressing.** A message is given to the run that it was sent to, or to all other runs, unchanged.
 * - **Order.** Messages from one run to another arrive in the order in which they were sent. Some may be lost, e.g.
 *   while a server restarts, and one may arrive twice.
 * - **Size.** A message of up to MAX_NODE_MESSAGE_BYTES arrives whole or not at all.
 * - **No waiting.** `send` and `sendToAll` return at once and never throw. Without a connection messages are dropped or
 *   held in a bounded buffer.
 * - **Later.** No listener is called before the function that caused the call has returned.
 */
export interface NodeLink {
  /** Begins to receive messages for `run` and those to all, until the returned function is called. */
  listen(run: string, onMessage: (message: Uint8Array) => void): Undo;
  /** The bytes must not change afterwards. */
  send(run: string, message: Uint8Array): void;
  /** Sends a message to all runs but the listening one. */
  sendToAll(message: Uint8Array): void;
  /**
   * Asks whether anybody receives messages for the run. `onAnswer` is called at most once: with true if the run has
   * answered, with false if it is known that nobody listens. It is not called if the run does not answer.
   */
  probe(run: string, onAnswer: (isThere: boolean) => void): void;
}
