import type { StreamEvent, StreamJoin, StreamSource } from "../kernel/stream-contract.ts";
import type { Receiver, Topic } from "./topic.ts";

/** `asking`: being decided. `opening`: waiting for its snapshot or missed events. `live`: receives events. `ended`. */
export type SubscriptionState = "asking" | "opening" | "live" | "ended";

/** A subscription of one connection. */
export class Subscription {
  readonly join: StreamJoin;
  readonly receiver: Receiver;
  /** Its id as JSON. */
  readonly idJson: string;
  /** Admits the subscription and is notified of its end; undefined for a system stream. */
  readonly source: StreamSource | undefined;
  state: SubscriptionState = "asking";
  /** True if its source has admitted it and must be notified of its end. */
  admitted = false;
  /** Set while it is subscribed. */
  topic: Topic | undefined;

  constructor(join: StreamJoin, receiver: Receiver, source: StreamSource | undefined) {
    this.join = join;
    this.receiver = receiver;
    this.source = source;
    this.idJson = JSON.stringify(join.subscriptionId);
  }

  get hasEnded(): boolean {
    return this.state === "ended";
  }

  /** Returns whether an event of its group is for this subscription. */
  matches({ id }: StreamEvent): boolean {
    return this.join.id === undefined || this.join.id === id;
  }
}
