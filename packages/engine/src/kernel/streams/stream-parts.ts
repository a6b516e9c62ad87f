import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { StreamSource } from "../stream-contract.ts";
import type { Subscription } from "./subscription.ts";
import type { SystemStreams } from "./system-streams.ts";
import type { Tap } from "./tap.ts";

/** What connections work with. */
export interface StreamParts {
  readonly clock: Clock;
  readonly log: Logger;
  /** Names the run of the engine in which sequence numbers hold. */
  readonly epoch: string;
  readonly system: SystemStreams;
  /** Who keeps the user-defined streams now. */
  readonly source: () => StreamSource | undefined;
  /** Whoever kept them has stopped a moment ago, and may be starting again. */
  readonly sourceIsAway: () => boolean;
  readonly tap: Tap;
  /** Gives an admitted subscription its place. */
  subscribe(subscription: Subscription): void;
  /** It is not up to date, and cannot be brought so at present: it knows of everything up to `since`. Tried again soon. */
  resyncLater(subscription: Subscription, since: number): void;
  /** Ends a subscription, whatever became of it. Its source is told when it was admitted. */
  end(subscription: Subscription): void;
}
