/** One line of `worker.event.list()`. */
export interface EventTopic {
  /** A topic that was published to since the engine started, or a pattern that somebody listens to. */
  readonly topic: string;
  readonly subscribers: number;
  readonly published: number;
  /** Calls of functions that failed. */
  readonly failed: number;
  /** Events that a trigger had no room for, since its function does not keep up. */
  readonly dropped: number;
  /** RFC 3339; null: never. */
  readonly last_published_at: string | null;
}

/** What `context.metadata` holds of a call by an `event` or `subscribe` trigger, beside the members of the trigger's own metadata. */
export interface EventMetadata {
  readonly svc: { readonly topic: string };
}
