import type { GroupSize, Item } from "../item-store.ts";
import { OrderedTexts } from "../ordered-texts.ts";
import { ExpiryQueue } from "./expiry-queue.ts";

/** What an item weighs besides its key and value, in bytes. */
const ITEM_OVERHEAD_BYTES = 200;
/** Emptied scopes whose versions are remembered one by one; beyond, they are remembered together. */
const MAX_EMPTY_SCOPES = 10_000;

interface ScopeItems {
  readonly items: Map<string, Item>;
  /** Size of all values' JSON. */
  bytes: number;
  /** Highest version that was deleted here. */
  floor: number;
  /** Keys in order; made when a page is read for the first time. */
  ordered: OrderedTexts | undefined;
}

/** Items by scope and key in memory, past their end or not, with all that is known of scopes. */
export class MemoryScopes {
  readonly expiries = new ExpiryQueue();
  readonly #scopes = new Map<string, ScopeItems>();
  /** Scopes that hold items, in order; made when they are listed for the first time. */
  #ordered: OrderedTexts | undefined;
  #bytes = 0;
  #emptyScopes = 0;
  /** Highest version that was deleted in a scope that is not remembered by itself any more. */
  #sharedFloor = 0;

  /** What all items weigh. */
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
    this.#bytes += weightOf(scope, item) - weightOf(scope, old);
    this.expiries.put(scope, item.key, item.expiresAt);
  }

  /** The clock was set: all ends move along. */
  moveEnds(byMs: number): void {
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
    this.#bytes -= weightOf(scope, old);
    this.expiries.put(scope, key, undefined);
    if (entry.items.size === 0) this.#noteEmptied(scope);
  }

  /** Keys that begin with `prefix` and lie behind `after`, in order. */
  keys(scope: string, prefix: string, after: string | undefined): Iterable<string> {
    return this.#keysOf(scope)?.from(prefix, after) ?? [];
  }

  countKeys(scope: string, prefix: string): number {
    return this.#keysOf(scope)?.count(prefix) ?? 0;
  }

  /** Scopes that hold items, begin with `prefix` and lie behind `after`, in order. */
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

  #names(): OrderedTexts {
    this.#ordered ??= new OrderedTexts([...this.#scopes].filter(([, entry]) => entry.items.size > 0).map(([scope]) => scope));
    return this.#ordered;
  }

  #keysOf(scope: string): OrderedTexts | undefined {
    const entry = this.#scopes.get(scope);
    if (entry === undefined) return undefined;
    entry.ordered ??= new OrderedTexts(entry.items.keys());
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

/** What an item weighs in its scope; nothing when there is none. */
export function weightOf(scope: string, item: Item | undefined): number {
  return item === undefined ? 0 : ITEM_OVERHEAD_BYTES + scope.length + item.key.length + item.bytes;
}
