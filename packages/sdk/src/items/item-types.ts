import type { CallOptions } from "../calls/call-request.ts";
import type { UpdateOpError } from "./update-op.ts";

/** Options of every helper. */
export type HelperOptions = Pick<CallOptions, "timeoutMs" | "timeout_ms" | "signal">;

export interface ConditionOptions extends HelperOptions {
  /**
   * Writes only if the item has this version; otherwise fails with `state_conflict`. With 0, writes only if the item
   * does not exist.
   */
  readonly ifVersion?: number | undefined;
}

export interface WriteOptions extends ConditionOptions {
  /** Milliseconds after which the item expires. Default: never. */
  readonly expiresInMs?: number | undefined;
}

export interface UpdateOptions extends WriteOptions {
  /** If true, nothing is written when one operation fails. If false, the other operations are applied. Default true. */
  readonly atomic?: boolean | undefined;
}

export interface PageOptions extends HelperOptions {
  /** Returns only ids that begin with this prefix. */
  readonly prefix?: string | undefined;
  /** The `cursor` of the previous page. By default, the first page is returned. */
  readonly cursor?: string | undefined;
  /** Maximum items per page, 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
}

export interface IterateOptions extends HelperOptions {
  /** Returns only ids that begin with this prefix. */
  readonly prefix?: string | undefined;
  /** Items per request, 1 to 1,000. Default 100. */
  readonly pageSize?: number | undefined;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Cursor for the next page. Null on the last page. */
  readonly cursor: string | null;
  /** Number of items on all pages. */
  readonly total: number;
}

/** Metadata of an item. */
export interface ItemFacts {
  /** Version of the item. It starts at 1 and increases by 1 with each change. */
  readonly version: number;
  /** Time of the last change, ISO 8601. */
  readonly updatedAt: string;
  /** Size of the item's JSON, in bytes. */
  readonly bytes: number;
  /** Time at which the item expires, ISO 8601. Absent if it does not expire. */
  readonly expiresAt?: string;
  /** @deprecated Use `updatedAt`. */
  readonly updated_at: string;
  /** @deprecated Use `expiresAt`. */
  readonly expires_at?: string;
}

export interface SetResult<Value> {
  /** Null if the item did not exist. */
  readonly oldValue: Value | null;
  readonly newValue: Value;
  readonly version: number;
  /**
   * Present only if the write is not durable when the call returns. `relaxed` means that it becomes durable within a
   * second, `memory` that it never does.
   */
  readonly durability?: "relaxed" | "memory";
  /** @deprecated Use `oldValue`. */
  readonly old_value: Value | null;
  /** @deprecated Use `newValue`. */
  readonly new_value: Value;
}

export interface UpdateResult<Value> {
  /** Null if the item did not exist. */
  readonly oldValue: Value | null;
  /** The current value. If the update was not applied, it is the unchanged value. */
  readonly newValue: Value | null;
  readonly version: number;
  /** Failed operations. Absent if none failed. */
  readonly errors?: readonly UpdateOpError[];
  readonly durability?: "relaxed" | "memory";
  /** @deprecated Use `oldValue`. */
  readonly old_value: Value | null;
  /** @deprecated Use `newValue`. */
  readonly new_value: Value | null;
}
