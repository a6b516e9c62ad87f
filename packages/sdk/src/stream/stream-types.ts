import type { ItemFacts, SetResult, UpdateResult } from "../items/item-types.ts";

/** An item of a stream with its version. */
export interface StreamEntry<Item = unknown> extends ItemFacts {
  readonly itemId: string;
  readonly value: Item;
  /** @deprecated Use `itemId`. */
  readonly item_id: string;
}

interface Published {
  /** Sequence number of the event in its group. Absent if the write changed nothing. */
  readonly seq?: number;
  /** Version of the item. Absent if functions of a worker store the stream's items. */
  readonly version?: number;
}

export type StreamSetResult<Item> = Omit<SetResult<Item>, "version"> & Published;
export type StreamUpdateResult<Item> = Omit<UpdateResult<Item>, "version"> & Published;

export interface StreamDeleteResult<Item> {
  /** Null if the item did not exist. */
  readonly oldValue: Item | null;
  /** Sequence number of the event in its group. Absent if the item did not exist. */
  readonly seq?: number;
  readonly durability?: "relaxed" | "memory";
  /** @deprecated Use `oldValue`. */
  readonly old_value: Item | null;
}

export interface StreamListing {
  readonly stream: readonly { readonly id: string; readonly groups: readonly string[] }[];
  readonly count: number;
}

/** A notice to the subscribers of a group. It is not stored. */
export interface StreamNotice {
  /** Id of the item that the notice is about. By default, it is for the whole group. */
  readonly id?: string | undefined;
  readonly type: string;
  /** Default null. */
  readonly data?: unknown;
}

/** A change of an item, or a notice. `data` of a deletion is the deleted item. */
export type StreamChange<Item = unknown> =
  | { readonly type: "create" | "update" | "delete"; readonly data: Item }
  | { readonly type: "event"; readonly event: { readonly type: string; readonly data: unknown } };

/** Payload of the function of a `stream` trigger. */
export interface StreamEvent<Item = unknown> {
  readonly type: "stream";
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly streamName: string;
  readonly groupId: string;
  /** Id of the item. Null for a notice to the whole group. */
  readonly id: string | null;
  readonly event: StreamChange<Item>;
  /** Sequence number of the event in its group. */
  readonly seq: number;
  /** Version of the item, if it has one. */
  readonly version?: number;
}

/** Payload of the function of a `stream:leave` trigger. */
export interface StreamLeaveEvent<Context = unknown> {
  readonly subscription_id: string;
  readonly stream_name: string;
  readonly group_id: string;
  /** Id of the item. Null for a subscription to the whole group. */
  readonly id: string | null;
  /** Value that `auth_function` returned for the connection. */
  readonly context: Context | null;
}

/**
 * Payload of the function of a `stream:join` trigger. The join is rejected if the function returns `{unauthorized:
 * true}` or fails.
 */
export type StreamJoinEvent<Context = unknown> = StreamLeaveEvent<Context>;
