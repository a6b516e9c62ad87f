import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Log } from "../log.ts";
import type { ReplicaHost } from "./replica-messages.ts";
import type { RunState } from "./replica-tables.ts";

export interface ReplicatedStoreParts {
  readonly log: Log;
  readonly replica: ReplicaHost;
  /**
   * Opens the replica again after its thread ended. Must reject soon after the signal aborts, which means that the
   * store is closed.
   */
  readonly reopen: (signal: AbortSignal) => Promise<ReplicaHost>;
  readonly run: string;
  /** Id of this engine's data folder or machine. When a run joins, the other runs of its node are expelled. */
  readonly node: string;
  /**
   * `linearizable` (default): a read sees every write that was acknowledged before the read, on any node. `session`: a
   * read sees all earlier writes of this node, and never an older state than an earlier read. It does not wait for the
   * log.
   */
  readonly reads?: "linearizable" | "session" | undefined;
  readonly logger: Logger;
  /** Clock from which the store takes its time. */
  readonly clock: Clock;
  /** Clock for timeouts and pauses. */
  readonly timeoutClock: Clock;
  /** Maximum time that a request waits for the log, in milliseconds. Default 20,000. */
  readonly stallMs?: number | undefined;
  /** Maximum time that `agree` waits for the other replicas, in milliseconds. Default 300,000. */
  readonly agreeMs?: number | undefined;
  /** Maximum number of pending requests. Default 10,000. */
  readonly maxRequests?: number | undefined;
  /** Maximum total size of pending requests, in bytes. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** Number of entries between two fingerprints. Default FINGERPRINT_EVERY. */
  readonly fingerprintEvery?: number | undefined;
  /**
   * Called once when this run cannot continue. Nothing can be written any more, and a new store must be opened. There
   * are three cases:
   * - The run was expelled.
   * - Its replica restarted before it had reported writes of other runs. The state is `member`.
   * - It lacks entries that were removed from the log. The state is `member`.
   */
  readonly onEnded?: ((state: RunState) => void) | undefined;
  /** Called once, when `close` is called. */
  readonly onClosing?: (() => void) | undefined;
  readonly onClosed?: (() => void) | undefined;
}
