import type { Undo } from "../scope.ts";

/**
 * Transports messages between the runs of a cluster's engines. A run lasts from the start of an engine's process to its
 * end. A link may lose or repeat messages; `Peer` corrects this.
 *
 * Guarantees of an implementation (`testing/link-suite.ts` checks them):
 * - **Addressing.** A message is given to the run that it was sent to, or to all other runs, unchanged.
 * - **Order.** Messages from one run to another arrive in the order in which they were sent. Some may be lost, e.g.
 *   while a server restarts, and one may arrive twice.
 * - **Size.** A message of up to MAX_NODE_MESSAGE_BYTES arrives whole or not at all.
 * - **No waiting.** `send` and `sendToAll` return at once and never throw. Without a connection, messages are dropped
 *   or held in a bounded buffer.
 * - **Asynchronous.** A method of the link never calls a listener before the method has returned.
 */
export interface NodeLink {
  /** Receives the messages to `run` and the messages to all runs, until the returned function is called. */
  listen(run: string, onMessage: (message: Uint8Array) => void): Undo;
  /** Sends a message to one run. The bytes must not change afterwards. */
  send(run: string, message: Uint8Array): void;
  /** Sends a message to all runs except the run that listens on this link. */
  sendToAll(message: Uint8Array): void;
  /**
   * Asks whether the run is listening. `onAnswer` is called with true if the run has answered, or with false if it is
   * known that the run is not listening. It is called at most once, and not at all if the run does not answer.
   */
  probe(run: string, onAnswer: (isThere: boolean) => void): void;
}
