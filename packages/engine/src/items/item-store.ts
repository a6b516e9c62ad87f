import type { ItemChange, Notice, Outbox } from "./outbox.ts";
import type { UpdateOp, UpdateOpError } from "./update-op.ts";

/** One item as it is stored. */
export interface Item {
  readonly key: string;
  /** The value's JSON. */
  readonly json: string;
  /** See `ItemStore`. */
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
  /** Size of `json` in bytes of UTF-8. */
  readonly bytes: number;
  /** When it ends by itself, in milliseconds since 1970; undefined: never. */
  readonly expiresAt: number | undefined;
}

/** How long an answered write stays: through a power cut; through the end of the process, with up to 1 s lost in a power cut; as long as the module runs. */
export type Durability = "durable" | "relaxed" | "memory";

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

/** What a write found, when `ifVersion` did not hold: nothing was written. `actual` is 0 when there is no such item. */
export interface Conflict {
  readonly status: "conflict";
  readonly actual: number;
}

/** How a write ended that met no conflict. */
export interface ItemWritten {
  /** `unchanged`: the JSON is the text that was there, an item that was to be deleted was not there, or an update failed. */
  readonly status: "written" | "unchanged";
  /** The item as it is now; undefined when it is gone. */
  readonly item: Item | undefined;
  /** JSON before it; undefined when there was none. */
  readonly previous: string | undefined;
  /**
   * What happened, in order, with the numbers under which watchers find it in the outbox: nothing for `unchanged`; two when a value is written onto an
   * item past its end, which is deleted first.
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

/** Most JSON that `getMany` answers and that one `writeMany` replaces, in bytes: 64 MiB. Beyond it both fail with `payload_too_large`. */
export const MAX_MANY_BYTES = 64 * 1024 * 1024;

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

export interface ItemPage {
  readonly items: readonly Item[];
  /** True when there are items behind the last one. */
  readonly more: boolean;
  /** Items of the scope whose keys begin with the prefix, on all pages; may count items past their end that nobody deleted yet. */
  readonly total: number;
}

/** Values of a scope, or how large they are when they are more than was asked for. */
export type Listing =
  | { readonly status: "complete" /** JSON of each value, in the order of keys. */; readonly values: readonly string[] }
  | { readonly status: "too_large"; readonly items: number; readonly bytes: number };

/** May count items past their end that nobody deleted yet. */
export interface GroupSize {
  readonly scope: string;
  readonly items: number;
  /** Of JSON. */
  readonly bytes: number;
}

export interface GroupPage {
  readonly groups: readonly GroupSize[];
  /** True when there are scopes behind the last one. */
  readonly more: boolean;
  /** Scopes whose names begin with the prefix, on all pages. */
  readonly total: number;
}

export interface ExpiredItem {
  readonly scope: string;
  readonly key: string;
  readonly version: number;
}

/**
 * Items by scope and key, versioned, on any adapter (`in_memory`, `file_based`, `redis`); svc-state and svc-stream keep theirs here. Scopes and keys are
 * any well-formed text, ordered by code point. Values are JSON text: read only by `update`.
 *
 * Guarantees:
 * - Writes to one key take effect one after another, each completely or not at all. A read that starts after a write resolved sees it.
 * - A write that resolved stays as long as `durability` says.
 * - A write whose JSON is the text that is there already is `unchanged`: it keeps version and time, and nobody is told. A new end is kept all the same.
 * - An item starts at version 1 and each change adds exactly 1, its deletion included. A deletion is a change that the item does not live to show: an
 *   item made later in the same scope starts above every version deleted there, so versions of a key never repeat.
 * - An item past its end is gone for every read and write at once. A write that makes the item anew first deletes it (its own version and its own
 *   change), and the new item takes the next version. The old version may still be named in `ifVersion` of a delete, which is how it is swept.
 * - Ends are instants of the wall clock. If that is set while the store is open, they move along, so that an item lasts as long as was asked for.
 * - Deliveries for the watchers of a write are part of the write: both are there, or neither.
 * - Pages go by key: an item that exists throughout is listed exactly once, whatever is written between two pages.
 * - Answers come in the order in which the store did the work, and each promise settles in the turn in which its answer came; of two calls that did
 *   work on one key, the first reaction (`.then`) to the first call runs first. So who publishes a write in that reaction publishes in order of version.
 * - A rejected write (CallError `storage_failed`, `call_timeout`, `overloaded`, `draining`, `payload_too_large`) leaves the item as it was or, for the
 *   first two unless `details.outcome` is `not_written`, as it was to become, and later reads agree on which (`unclear-outcome.ts`). The cost of a write does not depend on the size of its scope.
 */
export interface ItemStore {
  readonly durability: Durability;
  get(scope: string, key: string): Promise<Item | undefined>;
  /** In the order of `keys`. Rejects with `payload_too_large` when they are more than `MAX_MANY_BYTES`. */
  getMany(scope: string, keys: readonly string[]): Promise<readonly (Item | undefined)[]>;
  set(scope: string, key: string, value: ItemValue, write: ItemWrite): Promise<ItemWritten | Conflict>;
  /** A failed update is `unchanged` and says why in `errors`. */
  update(scope: string, key: string, update: ItemUpdate, write: ItemWrite): Promise<ItemUpdated | Conflict>;
  delete(scope: string, key: string, write: ItemWrite): Promise<ItemWritten | Conflict>;
  /** All or none, in one transaction, in order. At most 1,000. Rejects with `payload_too_large` when they replace more than `MAX_MANY_BYTES`. */
  writeMany(writes: readonly OneOfMany[]): Promise<ManyWritten>;
  /** All values of a scope, unless they are over `maxBytes` together. */
  list(scope: string, options: { readonly maxBytes: number }): Promise<Listing>;
  page(scope: string, request: PageRequest): Promise<ItemPage>;
  /** Scopes whose names begin with the prefix and that hold at least one item, in order. */
  scopes(options: { readonly prefix: string }): Promise<readonly string[]>;
  /** The same with their sizes, in pages; `after` is a scope. */
  groups(request: Omit<PageRequest, "maxBytes">): Promise<GroupPage>;
  /** Items past their end at `now`, those that ended first; whoever finds them deletes them with `ifVersion`, and watchers are told. */
  expired(now: number, limit: number): Promise<readonly ExpiredItem[]>;
  /** When the next item ends; undefined: none does. May lie in the past. */
  nextExpiry(): Promise<number | undefined>;
  readonly outbox: Outbox;
  /**
   * Writes all that is there at this moment to `file` (absolute, must not exist; its folder must), while others go on reading and writing.
   * `file_based`: a database file that can be put in the place of the store's; else NDJSON as `state::export` has it. Rejects with `storage_failed`;
   * nothing is left behind then.
   */
  snapshot(file: string): Promise<{ readonly bytes: number }>;
  /** Why nothing can be written at present; undefined when it can. */
  problem(): string | undefined;
  /** What was lost or is damaged although the store works; undefined when nothing is known. */
  damage(): string | undefined;
  /** Finishes what was asked for. Calls after it are refused with `draining`. */
  close(): Promise<void>;
}
