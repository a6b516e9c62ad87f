import type { CallError } from "@svc-runtime/protocol/client";

/** The group to join. */
export interface StreamChoice {
  readonly streamName: string;
  readonly groupId: string;
}

/**
 * `joining`: not up to date: waits for a connection, for the engine's answer, or after a gap for the sync. `live`: all
 * events up to now were delivered. `refused`: the engine rejected the join, which is retried with backoff. `closed`:
 * left, or the client was closed or gave up.
 */
export type SubscriptionStatus = "joining" | "live" | "refused" | "closed";

/** A change of an item, or a notice. */
export type StreamUpdate<Item = unknown> =
  | {
      readonly type: "create" | "update" | "delete";
      readonly id: string;
      /** For a deletion: the deleted item. */
      readonly data: Item;
      /** Sequence number of the event in its group. Strictly increasing. */
      readonly seq: number;
      /** Version of the item, if the stream has versions. */
      readonly version: number | undefined;
      /** Milliseconds since 1970. */
      readonly timestamp: number;
    }
  | {
      /** A notice that was sent with `stream::send`. */
      readonly type: "event";
      /** Null if it is for the whole group. */
      readonly id: string | null;
      readonly event: { readonly type: string; readonly data: unknown };
      readonly seq: number;
      readonly timestamp: number;
    };

/** Reports missed events. A sync follows, which contains the result of all but the missed notices. */
export interface StreamGap {
  /** Sequence number of the last delivered event. Undefined if the engine does not know it. */
  readonly since: number | undefined;
  /** Sequence number of the last missed event. */
  readonly seq: number;
  /**
   * `restarted`: the engine restarted. `expired`: the engine no longer stores the events. `overflow`: this side did not
   * read fast enough. `unclear`: a write failed but may be stored.
   */
  readonly reason: "restarted" | "expired" | "overflow" | "unclear";
}

export interface SyncFacts {
  /** Sequence number of the last event that the sync contains. */
  readonly seq: number;
  /** The ids of a group's items, in the same order, if the engine sends them. */
  readonly itemIds: readonly string[] | undefined;
}

/** Called in the order of the events. Errors of handlers are logged. */
export interface StreamHandlers<Item, Snapshot> {
  /** All data: after the first join, and after a gap. */
  readonly onSync?: ((data: Snapshot, facts: SyncFacts) => void) | undefined;
  /** Each event once, in order. Includes the events during a lost connection, unless there was a gap. */
  readonly onEvent?: ((update: StreamUpdate<Item>) => void) | undefined;
  readonly onGap?: ((gap: StreamGap) => void) | undefined;
  /** The engine rejected something. For logs and display: the client retries, unless the status becomes `closed`. */
  readonly onError?: ((error: CallError) => void) | undefined;
  readonly onStatus?: ((status: SubscriptionStatus) => void) | undefined;
}

/** Handlers of a group, which receive all items, or of one item, which receive the item or null. */
export type GroupHandlers<Item = unknown> = StreamHandlers<Item, readonly Item[]>;
export type ItemHandlers<Item = unknown> = StreamHandlers<Item, Item | null>;

/** One subscription to a group or item. It survives reconnects. Created by `subscribe`. */
export interface StreamSubscription {
  readonly streamName: string;
  readonly groupId: string;
  /** Undefined for the whole group. */
  readonly id: string | undefined;
  readonly status: SubscriptionStatus;
  /** Sequence number of the last delivered event or sync. Undefined before the first. */
  readonly seq: number | undefined;
  /** Ends the subscription. After that, handlers receive only the status `closed`. */
  leave(): void;
}
