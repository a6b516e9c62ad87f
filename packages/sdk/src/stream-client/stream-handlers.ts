import type { CallError } from "@svc-runtime/protocol/client";

/** The group to join. */
export interface StreamChoice {
  readonly streamName: string;
  readonly groupId: string;
}

/**
 * Status of a subscription:
 * - `joining`: it is not up to date. It waits for a connection, for the engine's response to the join, or (after a gap)
 *   for the sync.
 * - `live`: all events up to now were delivered.
 * - `refused`: the engine rejected the join. The join is retried with backoff.
 * - `closed`: it was left, or the client was closed or stopped trying to connect.
 */
export type SubscriptionStatus = "joining" | "live" | "refused" | "closed";

/** A change of an item, or a notice. */
export type StreamUpdate<Item = unknown> =
  | {
      readonly type: "create" | "update" | "delete";
      readonly id: string;
      /** The item. For a deletion, the deleted item. */
      readonly data: Item;
      /** Sequence number of the event in its group. It is higher than that of each earlier event. */
      readonly seq: number;
      /** Version of the item, if the stream has versions. */
      readonly version: number | undefined;
      /** Milliseconds since 1970. */
      readonly timestamp: number;
    }
  | {
      /** A notice that was sent with `stream::send`. */
      readonly type: "event";
      /** Id of the item that the notice is about. Null if the notice is for the whole group. */
      readonly id: string | null;
      readonly event: { readonly type: string; readonly data: unknown };
      readonly seq: number;
      readonly timestamp: number;
    };

/**
 * Reports that events were missed. A sync follows. It contains the result of all missed changes, but not the missed
 * notices.
 */
export interface StreamGap {
  /** Sequence number of the last delivered event. Undefined if the engine does not know it. */
  readonly since: number | undefined;
  /** Sequence number of the last missed event. */
  readonly seq: number;
  /**
   * Why events were missed. `restarted`: the engine restarted. `expired`: the engine no longer stores the events.
   * `overflow`: the client did not read fast enough. `unclear`: a write failed but may be stored.
   */
  readonly reason: "restarted" | "expired" | "overflow" | "unclear";
}

export interface SyncFacts {
  /** Sequence number of the last event that the sync contains. */
  readonly seq: number;
  /** Ids of the group's items, in the same order as the items. Undefined if the engine does not send them. */
  readonly itemIds: readonly string[] | undefined;
}

/** Handlers of a subscription. They are called in the order of the events. Their errors are logged. */
export interface StreamHandlers<Item, Snapshot> {
  /** Receives all data. Called after the first join, and after a gap. */
  readonly onSync?: ((data: Snapshot, facts: SyncFacts) => void) | undefined;
  /**
   * Receives each event once, in order. Events that happened while the connection was lost are included, unless there
   * was a gap.
   */
  readonly onEvent?: ((update: StreamUpdate<Item>) => void) | undefined;
  readonly onGap?: ((gap: StreamGap) => void) | undefined;
  /**
   * Receives errors of the engine, for logs and for display. The client retries, unless the status becomes `closed`.
   */
  readonly onError?: ((error: CallError) => void) | undefined;
  readonly onStatus?: ((status: SubscriptionStatus) => void) | undefined;
}

/** Handlers of a group. `onSync` gets all items. For `ItemHandlers`, it gets the item, or null if it does not exist. */
export type GroupHandlers<Item = unknown> = StreamHandlers<Item, readonly Item[]>;
export type ItemHandlers<Item = unknown> = StreamHandlers<Item, Item | null>;

/** A subscription to a group or an item. It continues after reconnects. Created by `subscribe`. */
export interface StreamSubscription {
  readonly streamName: string;
  readonly groupId: string;
  /** Id of the item. Undefined for a subscription to the whole group. */
  readonly id: string | undefined;
  readonly status: SubscriptionStatus;
  /** Sequence number of the last delivered event or sync. Undefined before the first. */
  readonly seq: number | undefined;
  /** Ends the subscription. After that, handlers receive only the status `closed`. */
  leave(): void;
}
