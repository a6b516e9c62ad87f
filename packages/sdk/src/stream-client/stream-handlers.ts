import type { CallError } from "@svc/protocol";

/** What to join. */
export interface StreamChoice {
  readonly streamName: string;
  readonly groupId: string;
}

/**
 * `joining`: not up to date at present, for want of a connection, of the engine's answer or, after a gap, of the sync. `live`: everything up to now was told. `refused`: the
 * engine refused the join; it is tried again, with growing waits. `closed`: left, or the client was closed or given up.
 */
export type SubscriptionStatus = "joining" | "live" | "refused" | "closed";

/** What happened to an item, or a notice. */
export type StreamUpdate<Item = unknown> =
  | {
      readonly type: "create" | "update" | "delete";
      readonly id: string;
      /** Of a deletion: what was there. */
      readonly data: Item;
      /** Of the event, in its group; each is higher than the one before. */
      readonly seq: number;
      /** Of the item, where the stream keeps versions. */
      readonly version: number | undefined;
      /** Milliseconds since 1970. */
      readonly timestamp: number;
    }
  | {
      /** What somebody sent by `stream::send`. */
      readonly type: "event";
      /** Null when it is for the whole group. */
      readonly id: string | null;
      readonly event: { readonly type: string; readonly data: unknown };
      readonly seq: number;
      readonly timestamp: number;
    };

/** Events were missed; a sync follows, which makes up for all but the notices among them. */
export interface StreamGap {
  /** The last event that was told; undefined when the engine does not know. */
  readonly since: number | undefined;
  /** The number up to which events are missing. */
  readonly seq: number;
  /** `restarted`: the engine was. `expired`: it no longer keeps them. `overflow`: this side did not read fast enough. `unclear`: a write failed that may be stored all the same. */
  readonly reason: "restarted" | "expired" | "overflow" | "unclear";
}

export interface SyncFacts {
  /** The event up to which it holds. */
  readonly seq: number;
  /** The ids of a group's items, in their order, where the engine tells them. */
  readonly itemIds: readonly string[] | undefined;
}

/** All are called in the order in which things happened. What they throw is logged. */
export interface StreamHandlers<Item, Snapshot> {
  /** All there is: after the first join, and after a gap. */
  readonly onSync?: ((data: Snapshot, facts: SyncFacts) => void) | undefined;
  /** Each event once, in order; those missed while the connection was lost too, unless there was a gap. */
  readonly onEvent?: ((update: StreamUpdate<Item>) => void) | undefined;
  readonly onGap?: ((gap: StreamGap) => void) | undefined;
  /** The engine refused something; for people, since it is tried again unless the status turns `closed`. */
  readonly onError?: ((error: CallError) => void) | undefined;
  readonly onStatus?: ((status: SubscriptionStatus) => void) | undefined;
}

/** The items of a group, or of one item what it is. */
export type GroupHandlers<Item = unknown> = StreamHandlers<Item, readonly Item[]>;
export type ItemHandlers<Item = unknown> = StreamHandlers<Item, Item | null>;

/** One thing joined; it outlives connections. Made by `subscribe`. */
export interface StreamSubscription {
  readonly streamName: string;
  readonly groupId: string;
  /** Undefined: the whole group. */
  readonly id: string | undefined;
  readonly status: SubscriptionStatus;
  /** Number of the last event that was told, or up to which the last sync holds; undefined before the first. */
  readonly seq: number | undefined;
  /** Wants no more. Nothing is told after it but the status `closed`. */
  leave(): void;
}
