import type { CallOptions } from "../calls.ts";
import type { UpdateOpError } from "./update-op.ts";

/** What every helper takes besides. */
export type HelperOptions = Pick<CallOptions, "timeout_ms" | "signal">;

export interface ConditionOptions extends HelperOptions {
  /** Write only if the item has this version, else fail with `state_conflict`; 0: only if there is no such item. */
  readonly ifVersion?: number | undefined;
}

export interface WriteOptions extends ConditionOptions {
  /** The item ends by itself after so many milliseconds. Default: never. */
  readonly expiresInMs?: number | undefined;
}

export interface UpdateOptions extends WriteOptions {
  /** True: when one operation fails, nothing is written. False: the others are done all the same. Default true. */
  readonly atomic?: boolean | undefined;
}

export interface PageOptions extends HelperOptions {
  /** Only what begins with it. */
  readonly prefix?: string | undefined;
  /** `cursor` of the page before; without one, the first page. */
  readonly cursor?: string | undefined;
  /** Most items of the page, 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
}

export interface IterateOptions extends HelperOptions {
  /** Only what begins with it. */
  readonly prefix?: string | undefined;
  /** Items that are asked for at a time, 1 to 1,000. Default 100. */
  readonly pageSize?: number | undefined;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** For the next page; null behind the last one. */
  readonly cursor: string | null;
  /** On all pages. */
  readonly total: number;
}

/** Facts of an item besides its key and value. */
export interface ItemFacts {
  /** 1 for a new item; each change adds 1. */
  readonly version: number;
  /** ISO 8601. */
  readonly updated_at: string;
  /** Of its JSON. */
  readonly bytes: number;
  /** ISO 8601; absent for what stays for ever. */
  readonly expires_at?: string;
}

export interface SetResult<Value> {
  /** Null when there was no such item. */
  readonly old_value: Value | null;
  readonly new_value: Value;
  readonly version: number;
  /** Only where the write is not durable by now: `relaxed` is within a second, `memory` never is. */
  readonly durability?: "relaxed" | "memory";
}

export interface UpdateResult<Value> {
  /** Null when there was no such item. */
  readonly old_value: Value | null;
  /** What is there now; for an update that was not done, what is there still. */
  readonly new_value: Value | null;
  readonly version: number;
  /** Operations that failed; absent when none did. */
  readonly errors?: readonly UpdateOpError[];
  readonly durability?: "relaxed" | "memory";
}
