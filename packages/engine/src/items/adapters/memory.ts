import { CallError } from "@svc/protocol";
import type { Absent, BasicItems, Conflict, Listing, NewValue, Page, PageRequest, Removed, StoredItem, WriteOptions, Written } from "../item-store.ts";
import { compareKeys } from "../key-order.ts";

/** What an item weighs besides its key and value, in bytes. */
const ITEM_OVERHEAD_BYTES = 200;
/** Emptied scopes whose versions are remembered one by one; beyond, they are remembered together. */
const MAX_EMPTY_SCOPES = 10_000;

interface ScopeItems {
  readonly items: Map<string, StoredItem>;
  /** Highest version that was deleted here. */
  floor: number;
  /** Keys in order; made when a page is read, forgotten when a key comes or goes. */
  ordered: readonly string[] | undefined;
}

/** Items in this process's memory, gone when the module stops. Writes beyond `maxBytes` are refused with `storage_failed`. */
export function memoryItems(options: { readonly maxBytes: number }): BasicItems {
  return new MemoryItems(options.maxBytes);
}

class MemoryItems implements BasicItems {
  readonly #maxBytes: number;
  readonly #scopes = new Map<string, ScopeItems>();
  #bytes = 0;
  #emptyScopes = 0;
  /** Highest version that was deleted in a scope that is not remembered by itself any more. */
  #sharedFloor = 0;
  #closed = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  async get(scope: string, key: string): Promise<StoredItem | undefined> {
    this.#refuseClosed();
    return this.#scopes.get(scope)?.items.get(key);
  }

  async set(scope: string, key: string, value: NewValue, options: WriteOptions): Promise<Written | Conflict> {
    this.#refuseClosed();
    const old = this.#scopes.get(scope)?.items.get(key);
    const conflict = conflictOf(old, options);
    if (conflict !== undefined) return conflict;
    if (old?.json === value.json) return { status: "unchanged", previous: old.json, item: old };
    this.#refuseOverLimit(weight(scope, key, value.bytes) - (old === undefined ? 0 : weight(scope, key, old.bytes)));
    const entry = this.#entry(scope);
    const item: StoredItem = { key, json: value.json, version: (old?.version ?? entry.floor) + 1, updatedAt: value.now, bytes: value.bytes };
    this.#put(scope, entry, item);
    return { status: "written", previous: old?.json, item };
  }

  async delete(scope: string, key: string, options: WriteOptions): Promise<Removed | Absent | Conflict> {
    this.#refuseClosed();
    const entry = this.#scopes.get(scope);
    const old = entry?.items.get(key);
    const conflict = conflictOf(old, options);
    if (conflict !== undefined) return conflict;
    if (entry === undefined || old === undefined) return { status: "absent" };
    entry.items.delete(key);
    entry.ordered = undefined;
    entry.floor = Math.max(entry.floor, old.version + 1);
    this.#bytes -= weight(scope, key, old.bytes);
    if (entry.items.size === 0) this.#noteEmptied();
    return { status: "removed", previous: old.json };
  }

  async list(scope: string, options: { readonly maxBytes: number }): Promise<Listing> {
    this.#refuseClosed();
    const items = this.#itemsOf(scope, this.#orderedKeys(scope));
    const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
    if (bytes > options.maxBytes) return { status: "too_large", items: items.length, bytes };
    return { status: "complete", values: items.map((item) => item.json) };
  }

  async page(scope: string, request: PageRequest): Promise<Page> {
    this.#refuseClosed();
    const ordered = this.#orderedKeys(scope);
    const matching = request.prefix === "" ? ordered : withPrefix(ordered, request.prefix);
    const start = request.after === undefined ? 0 : firstBehind(matching, request.after);
    const candidates = this.#itemsOf(scope, matching.slice(start, start + request.limit));
    const items = fitting(candidates, request.maxBytes);
    return { items, more: start + items.length < matching.length, total: matching.length };
  }

  async scopes(): Promise<readonly string[]> {
    this.#refuseClosed();
    return [...this.#scopes]
      .filter(([, entry]) => entry.items.size > 0)
      .map(([scope]) => scope)
      .sort(compareKeys);
  }

  problem(): undefined {
    return undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#scopes.clear();
  }

  #entry(scope: string): ScopeItems {
    return this.#scopes.get(scope) ?? { items: new Map(), floor: this.#sharedFloor, ordered: undefined };
  }

  #put(scope: string, entry: ScopeItems, item: StoredItem): void {
    const old = entry.items.get(item.key);
    if (old === undefined) {
      entry.ordered = undefined;
      if (entry.items.size === 0 && this.#scopes.has(scope)) this.#emptyScopes -= 1;
      this.#scopes.set(scope, entry);
    }
    this.#bytes += weight(scope, item.key, item.bytes) - (old === undefined ? 0 : weight(scope, item.key, old.bytes));
    entry.items.set(item.key, item);
  }

  #noteEmptied(): void {
    this.#emptyScopes += 1;
    if (this.#emptyScopes <= MAX_EMPTY_SCOPES) return;
    for (const [scope, entry] of this.#scopes) {
      if (entry.items.size > 0) continue;
      this.#sharedFloor = Math.max(this.#sharedFloor, entry.floor);
      this.#scopes.delete(scope);
    }
    this.#emptyScopes = 0;
  }

  #orderedKeys(scope: string): readonly string[] {
    const entry = this.#scopes.get(scope);
    if (entry === undefined) return [];
    entry.ordered ??= [...entry.items.keys()].sort(compareKeys);
    return entry.ordered;
  }

  #itemsOf(scope: string, keys: readonly string[]): StoredItem[] {
    const items = this.#scopes.get(scope)?.items;
    return keys.map((key) => items?.get(key)).filter((item) => item !== undefined);
  }

  #refuseOverLimit(growth: number): void {
    if (growth <= 0 || this.#bytes + growth <= this.#maxBytes) return;
    const reason = `the in-memory state holds ${this.#bytes} bytes and may hold ${this.#maxBytes}; delete items, raise max_bytes, or use the file_based adapter`;
    throw new CallError("storage_failed", reason, { details: { reason, bytes: this.#bytes, max_bytes: this.#maxBytes } });
  }

  #refuseClosed(): void {
    if (this.#closed) throw new CallError("draining", "the state is closing and takes no more requests");
  }
}

function conflictOf(old: StoredItem | undefined, options: WriteOptions): Conflict | undefined {
  const actual = old?.version ?? 0;
  return options.ifVersion === undefined || options.ifVersion === actual ? undefined : { status: "conflict", actual };
}

function weight(scope: string, key: string, bytes: number): number {
  return ITEM_OVERHEAD_BYTES + scope.length + key.length + bytes;
}

function withPrefix(ordered: readonly string[], prefix: string): readonly string[] {
  const start = partition(ordered, (key) => compareKeys(key, prefix) < 0);
  const end = partition(ordered, (key) => compareKeys(key, prefix) < 0 || key.startsWith(prefix));
  return ordered.slice(start, end);
}

function firstBehind(ordered: readonly string[], after: string): number {
  return partition(ordered, (key) => compareKeys(key, after) <= 0);
}

/** Index of the first key for which `isBefore` is false; it is true for all keys before that one. */
function partition(ordered: readonly string[], isBefore: (key: string) => boolean): number {
  let low = 0;
  let high = ordered.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(ordered[middle] ?? "")) low = middle + 1;
    else high = middle;
  }
  return low;
}

function fitting(candidates: readonly StoredItem[], maxBytes: number): readonly StoredItem[] {
  let bytes = 0;
  const end = candidates.findIndex((item, index) => {
    bytes += item.bytes;
    return index > 0 && bytes > maxBytes;
  });
  return end < 0 ? candidates : candidates.slice(0, end);
}
