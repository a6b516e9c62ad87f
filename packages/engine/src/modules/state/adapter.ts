/** One item as it is stored. */
export interface StoredItem {
  readonly key: string;
  /** The value's JSON. */
  readonly json: string;
  /** See `StateAdapter`. */
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
  /** Size of `json` in bytes of UTF-8. */
  readonly bytes: number;
}

export interface WriteOptions {
  /** Write only if the item has this version; 0 stands for "there is no such item". */
  readonly ifVersion: number | undefined;
}

export interface NewValue {
  readonly json: string;
  /** Size of `json` in bytes of UTF-8. */
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What a write found, when `ifVersion` did not hold: nothing was written. `actual` is 0 when there is no such item. */
export interface Conflict {
  readonly status: "conflict";
  readonly actual: number;
}

export interface Written {
  readonly status: "written" | "unchanged";
  /** The JSON that was there before; undefined when there was no such item. For `unchanged` it is the JSON that is there. */
  readonly previous: string | undefined;
  readonly item: StoredItem;
}

export interface Removed {
  readonly status: "removed";
  readonly previous: string;
}

export interface Absent {
  readonly status: "absent";
}

export interface PageRequest {
  /** Only keys that begin with it; "" for all. */
  readonly prefix: string;
  /** Only keys behind it; undefined for the first page. */
  readonly after: string | undefined;
  /** Most items of the page. */
  readonly limit: number;
  /** The page ends early rather than exceed this, but holds at least one item. */
  readonly maxBytes: number;
}

export interface Page {
  readonly items: readonly StoredItem[];
  /** True when there are items behind the last one. */
  readonly more: boolean;
  /** Items of the scope whose keys begin with the prefix, on all pages. */
  readonly total: number;
}

/** Values of a scope, or how large they are when they are more than was asked for. */
export type Listing =
  | { readonly status: "complete" /** JSON of each value, in the order of keys. */; readonly values: readonly string[] }
  | { readonly status: "too_large"; readonly items: number; readonly bytes: number };

/**
 * Keeps items by scope and key. Scopes and keys are any well-formed text; they are compared and ordered by code point. Values are JSON, never read.
 *
 * Guarantees:
 * - Writes to one key take effect one after another, each completely or not at all. A read that starts after a write resolved sees it.
 * - A write that resolved stays: `file_based` through any end of the process and a power cut, `in_memory` as long as the module runs.
 * - A write whose JSON is the text that is there already is `unchanged`: it keeps version and time.
 * - An item starts at version 1 and each change adds exactly 1. A deletion counts as a change that the item does not live to show: an item made
 *   later under a deleted key starts above it, so versions of a key never repeat. For that, any item made after deletions in its scope starts
 *   above the versions deleted there.
 * - Pages go by key: an item that exists throughout is listed exactly once, whatever is written between two pages.
 * - A rejected write (CallError `storage_failed`, `call_timeout`, `overloaded`, `draining`) leaves the item as it was or as it was to become, and later
 *   reads agree on which. The cost of a write does not depend on the size of its scope.
 */
export interface StateAdapter {
  get(scope: string, key: string): Promise<StoredItem | undefined>;
  set(scope: string, key: string, value: NewValue, options: WriteOptions): Promise<Written | Conflict>;
  delete(scope: string, key: string, options: WriteOptions): Promise<Removed | Absent | Conflict>;
  /** All values of a scope, unless they are over `maxBytes` together. */
  list(scope: string, options: { readonly maxBytes: number }): Promise<Listing>;
  page(scope: string, request: PageRequest): Promise<Page>;
  /** Scopes that hold at least one item, in order. */
  scopes(): Promise<readonly string[]>;
  /** Why nothing can be written at present; undefined when it can. */
  problem(): string | undefined;
  /** Finishes what was asked for. Calls after it are refused with `draining`. */
  close(): Promise<void>;
}
