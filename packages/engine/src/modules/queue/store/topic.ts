import type { Maker } from "./job.ts";

/** A function that gets the messages of a topic, even while no worker provides it. */
export interface Subscription {
  readonly topic: string;
  readonly functionId: string;
  /** `queue_config` of its trigger, as JSON. */
  readonly config: string;
  /** How long the subscription has had no trigger, in milliseconds. */
  readonly unseenMs: number;
  /** The restricted principal that subscribed. Empty: a trusted worker subscribed. */
  readonly owner: string;
}

/** A message that waits for the first subscription of its topic. */
export interface BacklogMessage {
  readonly id: string;
  readonly topic: string;
  /** JSON. */
  readonly data: string;
  readonly bytes: number;
  readonly maker: Maker | undefined;
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
}

/**
 * Bounds of the backlog. Beyond a bound the oldest messages are dropped. A restricted principal may use an eighth of
 * each bound, and all restricted principals together may use half of it. Messages of restricted principals never
 * displace messages of trusted callers.
 */
export interface BacklogBounds {
  /** Maximum messages and bytes of each topic. */
  readonly messages: number;
  readonly bytes: number;
  /** Maximum messages and bytes of all topics together. */
  readonly allMessages: number;
  readonly allBytes: number;
  readonly ageMs: number;
}

export interface BacklogCounts {
  readonly topic: string;
  readonly messages: number;
  readonly bytes: number;
}
