import type { Item } from "./item-store.ts";

/** Memory that is counted for each entry in addition to its key and value, in bytes. */
const ENTRY_OVERHEAD_BYTES = 300;

interface Entry {
  /** Undefined if the item does not exist. */
  readonly item: Item | undefined;
  readonly bytes: number;
}

/** LRU cache of items, limited in bytes. */
export class ItemCache {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the cached item; `{item: undefined}` if the item does not exist, undefined if it is not cached. */
  find(scope: string, key: string): { readonly item: Item | undefined } | undefined {
    const name = itemName(scope, key);
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    // A map keeps the insertion order, so inserting again makes the entry the most recently used.
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    return entry;
  }

  put(scope: string, key: string, item: Item | undefined): void {
    const name = itemName(scope, key);
    this.#drop(name);
    // A string takes one or two bytes per UTF-16 unit in memory. Assume two.
    const bytes = ENTRY_OVERHEAD_BYTES + 2 * (name.length + (item?.json.length ?? 0));
    if (bytes > this.#maxBytes) return;
    this.#entries.set(name, { item, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#drop(oldest);
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  #drop(name: string): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    this.#bytes -= entry.bytes;
  }
}

/**
 * Returns a map key that is unique for scope and key. It starts with the length of the scope, because both may contain
 * any character, so that no separator is possible.
 */
export function itemName(scope: string, key: string): string {
  return `${scope.length}:${scope}${key}`;
}
