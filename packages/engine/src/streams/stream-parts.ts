import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import type { StreamSource } from "../kernel/stream-contract.ts";
import type { SystemStreams } from "./system-streams.ts";
import type { Tap } from "./tap.ts";
import type { Subscription } from "./topic.ts";

/** The dependencies of connections. */
export interface StreamParts {
  readonly clock: Clock;
  readonly log: Logger;
  /** Identifies the run of the engine. Sequence numbers are valid within one run. */
  readonly epoch: string;
  readonly system: SystemStreams;
  /** The current provider of the user-defined streams. */
  readonly source: () => StreamSource | undefined;
  /** True if the provider stopped recently and may be restarting. */
  readonly sourceIsAway: () => boolean;
  readonly tap: Tap;
  /** Adds an admitted subscription to its topic. */
  subscribe(subscription: Subscription): void;
  /** Synchronizes a subscription again later. `since` is the number of the last event that it certainly got. */
  resyncLater(subscription: Subscription, since: number): void;
  /** Ends a subscription in any state. Notifies its source if it was admitted. */
  end(subscription: Subscription): void;
}
