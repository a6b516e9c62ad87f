import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Log } from "../log.ts";
import type { ReplicaHost } from "./replica-messages.ts";
import type { RunState } from "./replica-tables.ts";

export interface ReplicatedStoreParts {
  readonly log: Log;
  readonly replica: ReplicaHost;
  /** Opens the replica again after its thread ended. Rejects soon after the signal aborts: the store has ended. */
  readonly reopen: (signal: AbortSignal) => Promise<ReplicaHost>;
  readonly run: string;
  /** Data folder or machine. When a run joins, the other runs of its node are expelled. */
  readonly node: string;
  /**
   * `linearizable` (default): a read sees every write that was acknowledged before it, on any node. `session`: it sees
   * the writes of this node, and nothing older than what was seen before; it does not wait for the log.
   */
  readonly reads?: "linearizable" | "session" | undefined;
  readonly logger: Logger;
  /** Clock of the store's time. */
  readonly clock: Clock;
  /** Clock of deadlines and pauses. */
  readonly timeoutClock: Clock;
  /** How long a request waits for the log, in milliseconds. Default 20,000. */
  readonly stallMs?: number | undefined;
  /** How long `agree` waits for the other replicas, in milliseconds. Default 300,000. */
  readonly agreeMs?: number | undefined;
  /** Maximum number of pending requests. Default 10,000. */
  readonly maxRequests?: number | undefined;
  /** Maximum size of pending requests, in bytes. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** Number of entries between two fingerprints. Default FINGERPRINT_EVERY. */
  readonly fingerprintEvery?: number | undefined;
  /**
   * Called once, when this run cannot go on: it was expelled, or, with the state `member`, it missed writes of other runs
   * when its replica restarted, or lacks entries that the log no longer has. Nothing can be written any more; open a new
   * store.
   */
  readonly onEnded?: ((state: RunState) => void) | undefined;
  /** Called once, when `close` is called. */
  readonly onClosing?: (() => void) | undefined;
  readonly onClosed?: (() => void) | undefined;
}
