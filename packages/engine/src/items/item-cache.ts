import type { Item } from "./item-store.ts";

/** What an entry weighs besides its key and value, in bytes. */
const ENTRY_OVERHEAD_BYTES = 300;

interface Entry {
  /** Undefined: known not to exist. */
  readonly item: Item | undefined;
  readonly bytes: number;
}

/** The items that were read or written last, up to a number of bytes; the one that was not used for longest goes first. */
export class ItemCache {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** What is known of an item: `{item: undefined}` says that there is none, undefined that nothing is known. */
  find(scope: string, key: string): { readonly item: Item | undefined } | undefined {
    const name = itemName(scope, key);
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    // A map keeps the order of insertion, so what is inserted again is the last to go.
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    return entry;
  }

  put(scope: string, key: string, item: Item | undefined): void {
    const name = itemName(scope, key);
    this.#drop(name);
    // A text takes one or two bytes per unit in memory; two are counted.
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

/** One text for a scope and a key. Both may hold any character, so the length says where the scope ends. */
export function itemName(scope: string, key: string): string {
  return `${scope.length}:${scope}${key}`;
}
