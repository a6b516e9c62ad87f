import type { GroupSize, Item } from "../item-store.ts";
import { SortedStrings } from "../sorted-strings.ts";
import { ExpiryQueue } from "./expiry-queue.ts";

/** Memory that is counted for each item in addition to its key and value, in bytes. */
const ITEM_OVERHEAD_BYTES = 200;
/**
 * Maximum number of empty scopes with a version floor of their own. Above it, their floors are merged into
 * `#sharedFloor`.
 */
const MAX_EMPTY_SCOPES = 10_000;

interface ScopeItems {
  readonly items: Map<string, Item>;
  /** Total size of the values' JSON, in bytes. */
  bytes: number;
  /**
   * Version floor: the highest version of a deletion in the scope. A new item gets a higher version, so a key never has
   * the same version twice.
   */
  floor: number;
  /** Keys in order; created when the scope is first listed. */
  ordered: SortedStrings | undefined;
}

/** Items in memory by scope and key, including expired ones, with the sizes and version floors of scopes. */
export class MemoryScopes {
  readonly expiries = new ExpiryQueue();
  readonly #scopes = new Map<string, ScopeItems>();
  /** Scopes that contain items, in order; created when scopes are first listed. */
  #ordered: SortedStrings | undefined;
  #bytes = 0;
  #emptyScopes = 0;
  /** Version floor of all scopes without an entry in `#scopes`: the highest floor of the removed entries. */
  #sharedFloor = 0;

  /** Total size of all items, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  item(scope: string, key: string): Item | undefined {
    return this.#scopes.get(scope)?.items.get(key);
  }

  floor(scope: string): number {
    return this.#scopes.get(scope)?.floor ?? this.#sharedFloor;
  }

  put(scope: string, item: Item): void {
    let entry = this.#scopes.get(scope);
    if (entry === undefined) {
      entry = { items: new Map(), bytes: 0, floor: this.#sharedFloor, ordered: undefined };
      this.#scopes.set(scope, entry);
      this.#ordered?.add(scope);
    } else if (entry.items.size === 0) {
      this.#emptyScopes -= 1;
      this.#ordered?.add(scope);
    }
    const old = entry.items.get(item.key);
    if (old === undefined) entry.ordered?.add(item.key);
    entry.items.set(item.key, item);
    entry.bytes += item.bytes - (old?.bytes ?? 0);
    this.#bytes += itemSize(scope, item) - itemSize(scope, old);
    this.expiries.put(scope, item.key, item.expiresAt);
  }

  /** Shifts all expiry times by `byMs`. Called after the wall clock was set, so that lifetimes stay the same. */
  shiftExpiries(byMs: number): void {
    for (const { scope, key, dueAt } of this.expiries.takeAll()) {
      const item = this.item(scope, key);
      if (item !== undefined) this.put(scope, { ...item, expiresAt: dueAt + byMs });
    }
  }

  remove(scope: string, key: string): void {
    const entry = this.#scopes.get(scope);
    const old = entry?.items.get(key);
    if (entry === undefined || old === undefined) return;
    entry.items.delete(key);
    entry.ordered?.delete(key);
    entry.bytes -= old.bytes;
    entry.floor = Math.max(entry.floor, old.version + 1);
    this.#bytes -= itemSize(scope, old);
    this.expiries.put(scope, key, undefined);
    if (entry.items.size === 0) this.#noteEmptied(scope);
  }

  /** Returns the keys that start with `prefix` and come after `after`, in order. */
  keys(scope: string, prefix: string, after: string | undefined): Iterable<string> {
    return this.#keysOf(scope)?.from(prefix, after) ?? [];
  }

  countKeys(scope: string, prefix: string): number {
    return this.#keysOf(scope)?.count(prefix) ?? 0;
  }

  /** Returns the scopes that contain items, start with `prefix` and come after `after`, in order. */
  names(prefix: string, after: string | undefined): Iterable<string> {
    return this.#names().from(prefix, after);
  }

  countNames(prefix: string): number {
    return this.#names().count(prefix);
  }

  size(scope: string): GroupSize {
    const entry = this.#scopes.get(scope);
    return { scope, items: entry?.items.size ?? 0, bytes: entry?.bytes ?? 0 };
  }

  clear(): void {
    this.#scopes.clear();
    this.#ordered = undefined;
    this.expiries.clear();
  }

  #names(): SortedStrings {
    this.#ordered ??= new SortedStrings(
      [...this.#scopes].filter(([, entry]) => entry.items.size > 0).map(([scope]) => scope),
    );
    return this.#ordered;
  }

  #keysOf(scope: string): SortedStrings | undefined {
    const entry = this.#scopes.get(scope);
    if (entry === undefined) return undefined;
    entry.ordered ??= new SortedStrings(entry.items.keys());
    return entry.ordered;
  }

  #noteEmptied(scope: string): void {
    this.#ordered?.delete(scope);
    this.#emptyScopes += 1;
    if (this.#emptyScopes <= MAX_EMPTY_SCOPES) return;
    for (const [name, entry] of this.#scopes) {
      if (entry.items.size > 0) continue;
      this.#sharedFloor = Math.max(this.#sharedFloor, entry.floor);
      this.#scopes.delete(name);
    }
    this.#emptyScopes = 0;
  }
}

/** Returns the size of an item in its scope, in bytes; 0 for no item. */
export function itemSize(scope: string, item: Item | undefined): number {
  return item === undefined ? 0 : ITEM_OVERHEAD_BYTES + scope.length + item.key.length + item.bytes;
}
