/** A function that gets what is published to a topic, whether or not anybody provides it at present. */
export interface Subscription {
  readonly topic: string;
  readonly functionId: string;
  /** `queue_config` of its trigger, as JSON. */
  readonly config: string;
  /** When a trigger asked for it last, in milliseconds since 1970. */
  readonly seenAt: number;
}

/** A message that waits for the first subscription of its topic. */
export interface BacklogMessage {
  readonly id: string;
  readonly topic: string;
  /** JSON. */
  readonly data: string;
  readonly bytes: number;
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
}

/** What waits for subscriptions. Beyond a bound the oldest messages go. */
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
