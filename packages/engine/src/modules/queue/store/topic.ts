import type { Maker } from "./job.ts";

/** A function that gets what is published to a topic, whether or not anybody provides it at present. */
export interface Subscription {
  readonly topic: string;
  readonly functionId: string;
  /** `queue_config` of its trigger, as JSON. */
  readonly config: string;
  /** When a trigger asked for it last, in milliseconds since 1970. */
  readonly seenAt: number;
  /** The restricted principal that asked for it; empty: a trusted one. */
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
 * What waits for subscriptions. Beyond a bound the oldest messages go. A restricted principal may have an eighth of each bound, and all of them together half
 * of it; a message of theirs never displaces one of a trusted caller.
 */
export interface BacklogBounds {
  /** Of one topic. */
  readonly messages: number;
  readonly bytes: number;
  /** Of all topics. */
  readonly allMessages: number;
  readonly allBytes: number;
  readonly ageMs: number;
}

export interface BacklogCounts {
  readonly topic: string;
  readonly messages: number;
  readonly bytes: number;
}
