import type { Undo } from "../kernel/scope.ts";
import type { ItemChange, Notice, Outbox } from "./outbox.ts";
import type { SharedWatchers } from "./shared-watchers.ts";
import type { UpdateOp, UpdateOpError } from "./update-op.ts";

/** A stored item. */
export interface Item {
  readonly key: string;
  /** The value's JSON. */
  readonly json: string;
  /** Starts at 1 and grows with each change. See `ItemStore`. */
  readonly version: number;
  /** Time of the last change, in milliseconds since 1970. */
  readonly updatedAt: number;
  /** Size of `json` in bytes of UTF-8. */
  readonly bytes: number;
  /** Expiry time, in milliseconds since 1970; undefined if the item does not expire. */
  readonly expiresAt: number | undefined;
}

/**
 * Which failures an acknowledged write survives. `durable`: a power cut and a crash of the process. `relaxed`: a crash
 * of the process; a power cut may lose the writes of the last second. `memory`: no failure.
 */
export type Durability = "durable" | "relaxed" | "memory";

/** Parameters of a write besides the value. */
export interface ItemWrite {
  /** Time of the write, in milliseconds since 1970. */
  readonly now: number;
  /** Write only if the item has this version; 0 means that the item must not exist. */
  readonly ifVersion: number | undefined;
  /** Minimum version of the item after a set. Ignored for other writes. */
  readonly leastVersion?: number | undefined;
  /** Watchers to notify of the change. */
  readonly notice: Notice | undefined;
  /** Passed to the listeners of `onApplied` with this write. Never stored. */
  readonly mark?: unknown;
}

export interface ItemValue {
  readonly json: string;
  /** Size of `json` in bytes of UTF-8. */
  readonly bytes: number;
  /** Undefined if the item does not expire. */
  readonly expiresAt: number | undefined;
}

/** Operations on an item. The store applies them to its JSON. */
export interface ItemUpdate {
  readonly ops: readonly UpdateOp[];
  /** If true, nothing is written if an operation fails. If false, the other operations are applied. */
  readonly atomic: boolean;
  /** Maximum size of the resulting JSON, in bytes. Above it, the update fails with `payload_too_large`. */
  readonly maxBytes: number;
  /** `keep`: the expiry time does not change; a new item does not expire. */
  readonly expiresAt: number | undefined | "keep";
}

/** Result of a write whose `ifVersion` did not match. Nothing was written. `actual` is 0 if the item does not exist. */
export interface Conflict {
  readonly status: "conflict";
  readonly actual: number;
}

/** Result of a write without a conflict. */
export interface ItemWritten {
  /** `unchanged`: the JSON is equal to the stored one, the item to delete did not exist, or an update failed. */
  readonly status: "written" | "unchanged";
  /** The item after the write; undefined if it does not exist. */
  readonly item: Item | undefined;
  /** JSON before the write; undefined if the item did not exist. */
  readonly previous: string | undefined;
  /**
   * Changes in order, with their outbox numbers. Empty for `unchanged`; two if the write replaced an expired item,
   * which is deleted first.
   */
  readonly changes: readonly NumberedChange[];
}

export interface NumberedChange extends ItemChange {
  /** Sequence number in the outbox, the same for all watchers. Undefined if no watcher receives the change. */
  readonly seq: number | undefined;
  /** Ids of the watchers of the notice that receive this kind of change. */
  readonly watchers: readonly string[];
}

/** A stored write of one item. Each write of a batch is reported separately. */
export interface AppliedItem {
  readonly written: ItemWritten;
  /** `origin` of the write's notice; undefined if it had none. */
  readonly origin: string | undefined;
  /** `mark` of the write. Undefined if another engine made the write, or if the write had no mark. */
  readonly mark: unknown;
}

export interface ItemUpdated extends ItemWritten {
  readonly errors: readonly UpdateOpError[];
}

/** One write of an atomic batch. */
export type BatchedWrite =
  | {
      readonly type: "set";
      readonly scope: string;
      readonly key: string;
      readonly value: ItemValue;
      readonly write: ItemWrite;
    }
  | { readonly type: "delete"; readonly scope: string; readonly key: string; readonly write: ItemWrite };

/**
 * Result of an atomic batch. After a conflict nothing was written, and `index` is the index of the conflicting write.
 */
export type BatchResult =
  | { readonly status: "written"; readonly writes: readonly ItemWritten[] }
  | { readonly status: "conflict"; readonly index: number; readonly actual: number };

/**
 * Maximum size of the JSON that `getMany` returns or `writeMany` replaces, in bytes. Above it, both fail with
 * `payload_too_large`.
 */
export const MAX_MANY_BYTES = 64 * 1024 * 1024;

export interface PageRequest {
  /** Only keys that start with this prefix; "" for all. */
  readonly prefix: string;
  /** Only keys after this one; undefined for the first page. */
  readonly after: string | undefined;
  /** Maximum number of items in the page. */
  readonly limit: number;
  /** Maximum size of the page, in bytes. A page has at least one item, even if that item is larger. */
  readonly maxBytes: number;
}

export interface ItemPage {
  readonly items: readonly Item[];
  /** True if there are more items after the last one. */
  readonly more: boolean;
  /** Number of items on all pages. May include expired items that are not deleted yet. */
  readonly total: number;
}

/** JSON of each value of a scope, in the order of keys; or only their number and size if the size exceeds the limit. */
export type Listing =
  | { readonly status: "complete"; readonly values: readonly string[] }
  | { readonly status: "too_large"; readonly items: number; readonly bytes: number };

/** Size of a scope. May include expired items that are not deleted yet. */
export interface GroupSize {
  readonly scope: string;
  readonly items: number;
  /** Size of the values' JSON. */
  readonly bytes: number;
}

export interface GroupPage {
  readonly groups: readonly GroupSize[];
  /** True if there are more scopes after the last one. */
  readonly more: boolean;
  /** Number of scopes on all pages. */
  readonly total: number;
}

export interface ExpiredItem {
  readonly scope: string;
  readonly key: string;
  readonly version: number;
}

/**
 * Versioned items by scope and key, with an adapter (`in_memory`, `file_based`, `redis`). svc-state and svc-stream use
 * it. Scopes and keys are well-formed Unicode strings, sorted by code point. Values are JSON text; only `update` parses
 * them.
 *
 * Guarantees:
 * - Writes to a key are serialized and atomic. A read that starts after a write resolved sees the write.
 * - `durability` says which failures a resolved write survives.
 * - A write with the same JSON as the stored one is `unchanged`: version and time stay, and no watcher is notified.
 *   Only a new expiry time is stored.
 * - An item starts at version 1. Each change adds 1 to the version, or more with `leastVersion`. A deletion is a change
 *   too. A new item starts above every version that was deleted in its scope, so a key never has the same version
 *   twice.
 * - Reads ignore an item as soon as it has expired. A write to the key of an expired item first deletes that item. This
 *   deletion is a change with its own version, and the new item has the next version. A delete with `ifVersion` may
 *   name the version of the expired item, so that the sweep can delete it.
 * - Expiry times are wall-clock times. If the wall clock is set while the store is open, expiry times are shifted with
 *   it, so that the lifetime stays the same.
 * - Deliveries for the watchers of a write are stored in the same transaction as the write.
 * - Paging by key lists an item that exists during the whole time exactly once, even if other items are written between
 *   two pages.
 * - Results come in the order in which the store ran the requests, and each promise settles in the event loop turn of
 *   its result. For two calls on one key, the first reaction (`.then`) to the earlier call runs first. So if a write is
 *   published in that reaction, the order of versions is kept.
 * - A write that rejects with CallError `overloaded`, `draining` or `payload_too_large` changes nothing. After
 *   `storage_failed` and `call_timeout` the write may have been executed, unless `details.outcome` is `not_written`
 *   (`mayBeStored`). All later reads agree on whether it was.
 * - The cost of a write does not depend on the size of its scope.
 */
export interface ItemStore {
  readonly durability: Durability;
  get(scope: string, key: string): Promise<Item | undefined>;
  /** Returns items in the order of `keys`. Rejects with `payload_too_large` above `MAX_MANY_BYTES`. */
  getMany(scope: string, keys: readonly string[]): Promise<readonly (Item | undefined)[]>;
  set(scope: string, key: string, value: ItemValue, write: ItemWrite): Promise<ItemWritten | Conflict>;
  /** Applies operations to an item. If the update fails, the status is `unchanged`, and `errors` has the reasons. */
  update(scope: string, key: string, update: ItemUpdate, write: ItemWrite): Promise<ItemUpdated | Conflict>;
  delete(scope: string, key: string, write: ItemWrite): Promise<ItemWritten | Conflict>;
  /**
   * Runs at most 1,000 writes in order, in one transaction. Rejects with `payload_too_large` if they replace more than
   * `MAX_MANY_BYTES`.
   */
  writeMany(writes: readonly BatchedWrite[]): Promise<BatchResult>;
  /**
   * Calls the listener for each stored write without a conflict, in the order of the writes, before the promise of the
   * write settles. This includes writes whose promise was rejected before because of a timeout. With `file_based`, the
   * writes of all engines that use the store are reported; with other adapters, only the writes of this object. The
   * listener must not throw.
   */
  onApplied(listener: (applied: AppliedItem) => void): Undo;
  /** Returns all values of a scope, unless their total size exceeds `maxBytes`. */
  list(scope: string, options: { readonly maxBytes: number }): Promise<Listing>;
  page(scope: string, request: PageRequest): Promise<ItemPage>;
  /** Returns the non-empty scopes that start with the prefix, in order. */
  scopes(options: { readonly prefix: string }): Promise<readonly string[]>;
  /** Like `scopes`, with sizes and in pages; `after` is a scope. */
  groups(request: Omit<PageRequest, "maxBytes">): Promise<GroupPage>;
  /**
   * Returns items that are expired at `now`, in the order of expiry. The caller must delete the items with `ifVersion`.
   */
  expired(now: number, limit: number): Promise<readonly ExpiredItem[]>;
  /** Returns the earliest expiry time, which may be in the past; undefined if no item expires. */
  nextExpiry(): Promise<number | undefined>;
  readonly outbox: Outbox;
  /**
   * Set if the engines of a cluster share the items. The store then finds the watchers of a write; otherwise the writer
   * does.
   */
  readonly sharedWatchers?: SharedWatchers | undefined;
  /**
   * Writes a consistent snapshot to `file` (an absolute path; the file must not exist, its folder must), while reads
   * and writes continue. `file_based` writes a database file that can replace the store's file. The other adapters
   * write NDJSON like `state::export`. On failure, rejects with `storage_failed` and leaves no file.
   */
  snapshot(file: string): Promise<{ readonly bytes: number }>;
  /** Returns the reason why writes fail at present, or undefined if they work. */
  problem(): string | undefined;
  /** Returns which data are lost or damaged although the store works. Undefined if no damage is known. */
  damage(): string | undefined;
  /** Finishes pending requests, then closes. Later calls reject with `draining`. */
  close(): Promise<void>;
}
