import type { ItemChange, Notice, Outbox } from "./outbox.ts";
import type { UpdateOp, UpdateOpError } from "./update-op.ts";

/** One item as it is stored. */
export interface StoredItem {
  readonly key: string;
  /** The value's JSON. */
  readonly json: string;
  /** See `ItemStore`. */
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
/** What the adapters offer before they offer all of `ItemStore`. */
export interface BasicItems {
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

/** How long an answered write stays: through a power cut; through the end of the process, with up to 1 s lost in a power cut; as long as the module runs. */
export type Durability = "durable" | "relaxed" | "memory";

/** An item with what the full store keeps of it. */
export interface Item extends StoredItem {
  /** When it ends by itself, in milliseconds since 1970; undefined: never. An item past it is gone for every read and write. */
  readonly expiresAt: number | undefined;
}

/** What a write is told besides the value. */
export interface ItemWrite {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Write only if the item has this version; 0 stands for "there is no such item". */
  readonly ifVersion: number | undefined;
  /** Who is to be told of the change. */
  readonly notice: Notice | undefined;
}

export interface ItemValue {
  readonly json: string;
  /** Size of `json` in bytes of UTF-8. */
  readonly bytes: number;
  /** Undefined: it stays for ever. */
  readonly expiresAt: number | undefined;
}

/** Ops for one item, applied to its JSON where it lies. */
export interface ItemUpdate {
  readonly ops: readonly UpdateOp[];
  /** True: one failing operation and nothing is written. False: the others are done all the same (and nothing is written when they change nothing). */
  readonly atomic: boolean;
  /** Largest JSON that may come out, in bytes; beyond it the update fails with `payload_too_large`. */
  readonly maxBytes: number;
  /** `keep`: as it is (a new item stays for ever). */
  readonly expiresAt: number | undefined | "keep";
}

/** How a write ended that met no conflict. */
export interface ItemWritten {
  readonly status: "written" | "unchanged";
  /** The item as it is now; undefined when it is gone. */
  readonly item: Item | undefined;
  /** JSON before it; undefined when there was none. */
  readonly previous: string | undefined;
  /**
   * What happened, in order, with the numbers under which watchers find it in the outbox: nothing for `unchanged`; two when the write met an item past its
   * end, which is deleted first.
   */
  readonly changes: readonly NumberedChange[];
}

export interface NumberedChange extends ItemChange {
  /** The delivery's number; the same for all watchers. Undefined when nobody was to be told. */
  readonly seq: number | undefined;
  /** Of those in the notice: who wanted this kind of change. */
  readonly watchers: readonly string[];
}

export interface ItemUpdated extends ItemWritten {
  readonly errors: readonly UpdateOpError[];
}

/** One write of several that are done together or not at all. */
export type OneOfMany =
  | { readonly type: "set"; readonly scope: string; readonly key: string; readonly value: ItemValue; readonly write: ItemWrite }
  | { readonly type: "delete"; readonly scope: string; readonly key: string; readonly write: ItemWrite };

/** `index` says which write met the conflict; nothing was written. */
export type ManyWritten =
  | { readonly status: "written"; readonly writes: readonly ItemWritten[] }
  | { readonly status: "conflict"; readonly index: number; readonly actual: number };

export interface GroupSize {
  readonly scope: string;
  readonly items: number;
  /** Of JSON. */
  readonly bytes: number;
}

/**
 * Items by scope and key, versioned, on any adapter (`in_memory`, `file_based`, `redis`); svc-state and svc-stream keep theirs here. Scopes and keys are
 * any well-formed text, ordered by code point. Values are JSON text: read only by `update`.
 *
 * Guarantees, besides those of `BasicItems`:
 * - Versions have no gaps: each change of a key, its deletion included, takes the next number; where the store no longer remembers a deleted key,
 *   a new item starts above every version deleted in its scope.
 * - Deliveries for the watchers of a write are part of the write: both are there, or neither.
 * - Answers come in the order in which the store did the work, reads included, and each promise settles in the turn in which its answer came: who
 *   publishes a write when it settles, publishes in order of version.
 */
export interface ItemStore {
  readonly durability: Durability;
  get(scope: string, key: string): Promise<Item | undefined>;
  /** In the order of `keys`. */
  getMany(scope: string, keys: readonly string[]): Promise<readonly (Item | undefined)[]>;
  set(scope: string, key: string, value: ItemValue, write: ItemWrite): Promise<ItemWritten | Conflict>;
  update(scope: string, key: string, update: ItemUpdate, write: ItemWrite): Promise<ItemUpdated | Conflict>;
  delete(scope: string, key: string, write: ItemWrite): Promise<ItemWritten | Conflict>;
  /** All or none, in one transaction. At most 1,000. */
  writeMany(writes: readonly OneOfMany[]): Promise<ManyWritten>;
  list(scope: string, options: { readonly maxBytes: number }): Promise<Listing>;
  page(scope: string, request: PageRequest): Promise<ItemPage>;
  /** Scopes that hold at least one item, in order. */
  scopes(options: { readonly prefix: string }): Promise<readonly string[]>;
  /** Scopes whose names begin with the prefix, in order, with their sizes; `after` is a scope. */
  groups(request: Omit<PageRequest, "maxBytes">): Promise<{ readonly groups: readonly GroupSize[]; readonly more: boolean; readonly total: number }>;
  /** Items past their end at `now`, those that ended first; whoever finds them deletes them with `ifVersion`, and watchers are told. */
  expired(now: number, limit: number): Promise<readonly { readonly scope: string; readonly key: string; readonly version: number }[]>;
  /** When the next item ends; undefined: none does. */
  nextExpiry(): Promise<number | undefined>;
  readonly outbox: Outbox;
  /**
   * Writes all that is there at this moment to `file` (absolute, must not exist), while others go on reading and writing. `file_based`: a database file that
   * can be put in the place of the store's; else NDJSON as `state::export` has it.
   */
  snapshot(file: string): Promise<{ readonly bytes: number }>;
  /** Why nothing can be written at present; undefined when it can. */
  problem(): string | undefined;
  /** Finishes what was asked for. Calls after it are refused with `draining`. */
  close(): Promise<void>;
}

export interface ItemPage {
  readonly items: readonly Item[];
  /** True when there are items behind the last one. */
  readonly more: boolean;
  /** Items of the scope whose keys begin with the prefix, on all pages; may count items whose end passed less than a few seconds ago. */
  readonly total: number;
}
