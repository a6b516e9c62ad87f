import type { StreamEvent, StreamJoin, StreamSource } from "../stream-contract.ts";
import type { Receiver, Topic } from "./topic.ts";

/** `asking`: whether it may; `opening`: what there is is to be read for it; `live`: it gets events; `ended`. */
export type SubscriptionState = "asking" | "opening" | "live" | "ended";

/** One subscription of one connection. */
export class Subscription {
  readonly join: StreamJoin;
  readonly receiver: Receiver;
  /** Its name as JSON. */
  readonly idJson: string;
  /** Who admits it and is told of its end; undefined for a system stream. */
  readonly source: StreamSource | undefined;
  state: SubscriptionState = "asking";
  /** Its source has let it in, and is to be told of its end. */
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

  /** Of its own stream and group. */
  matches({ id }: StreamEvent): boolean {
    return this.join.id === undefined || this.join.id === id;
  }
}
