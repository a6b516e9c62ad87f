import type { ItemFacts, SetResult, UpdateResult } from "../items/item-types.ts";

/** An item of a stream with its version. */
export interface StreamEntry<Item = unknown> extends ItemFacts {
  readonly item_id: string;
  readonly value: Item;
}

interface Published {
  /** Number of the event in its group; absent when nothing has changed. */
  readonly seq?: number;
  /** Of the item; absent where functions of a worker keep it. */
  readonly version?: number;
}

export type StreamSetResult<Item> = Omit<SetResult<Item>, "version"> & Published;
export type StreamUpdateResult<Item> = Omit<UpdateResult<Item>, "version"> & Published;

export interface StreamDeleteResult<Item> {
  /** Null when there was no such item. */
  readonly old_value: Item | null;
  /** Number of the event in its group; absent when there was no such item. */
  readonly seq?: number;
  readonly durability?: "relaxed" | "memory";
}

export interface StreamListing {
  readonly stream: readonly { readonly id: string; readonly groups: readonly string[] }[];
  readonly count: number;
}

/** What `send` sends to those who have joined; it is not stored. */
export interface StreamNotice {
  /** Of one item; default: of the whole group. */
  readonly id?: string | undefined;
  readonly type: string;
  /** Default null. */
  readonly data?: unknown;
}

/** What happened to an item, or a notice. `data` of a deletion is what was there. */
export type StreamChange<Item = unknown> =
  | { readonly type: "create" | "update" | "delete"; readonly data: Item }
  | { readonly type: "event"; readonly event: { readonly type: string; readonly data: unknown } };

/** What the function of a `stream` trigger is called with. */
export interface StreamEvent<Item = unknown> {
  readonly type: "stream";
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly streamName: string;
  readonly groupId: string;
  /** Null for what concerns the whole group. */
  readonly id: string | null;
  readonly event: StreamChange<Item>;
  /** Number of the event in its group. */
  readonly seq: number;
  /** Of the item, where it has one. */
  readonly version?: number;
}

/** What the function of a `stream:leave` trigger is called with. */
export interface StreamLeaveEvent<Context = unknown> {
  readonly subscription_id: string;
  readonly stream_name: string;
  readonly group_id: string;
  /** Null for the whole group. */
  readonly id: string | null;
  /** What `auth_function` answered for the connection. */
  readonly context: Context | null;
}

/** What the function of a `stream:join` trigger is called with; it refuses the join by answering `{unauthorized: true}`, or by failing. */
export type StreamJoinEvent<Context = unknown> = StreamLeaveEvent<Context>;
