/** One entry of `worker.event.list()`. */
export interface EventTopic {
  /** A topic that had an event since the engine started, or a pattern with a subscriber. */
  readonly topic: string;
  readonly subscribers: number;
  readonly published: number;
  /** Number of failed function calls. */
  readonly failed: number;
  /** Number of events dropped because a trigger's queue was full. */
  readonly dropped: number;
  /** Time of the last event, RFC 3339. Null if there was none. */
  readonly lastPublishedAt: string | null;
  /** @deprecated Use `lastPublishedAt`. */
  readonly last_published_at: string | null;
}

/**
 * Members of `context.metadata` in a call by an `event` or `subscribe` trigger, in addition to the trigger's own
 * metadata.
 */
export interface EventMetadata {
  readonly svc: { readonly topic: string };
}
