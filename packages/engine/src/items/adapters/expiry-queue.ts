import { itemName } from "../item-cache.ts";

/** Entries that are out of date are dropped once there are this many and as many as others. */
const MIN_COMPACTION = 1_000;

export interface Expiry {
  readonly scope: string;
  readonly key: string;
  readonly at: number;
}

/** Which items end when, in memory: a heap, whose entries are compared with what holds when they are met. */
export class ExpiryQueue {
  /** When an item ends that does; by `itemName`. */
  readonly #ends = new Map<string, number>();
  #heap: Expiry[] = [];

  /** Those out of date included. */
  get entries(): number {
    return this.#heap.length;
  }

  /** `at` undefined: the item does not end, or is gone. */
  put(scope: string, key: string, at: number | undefined): void {
    // Most stores hold nothing that ends, and pay nothing here.
    if (at === undefined && this.#ends.size === 0) return;
    const name = itemName(scope, key);
    if (at === undefined) {
      this.#ends.delete(name);
      return;
    }
    if (this.#ends.get(name) === at) return;
    this.#ends.set(name, at);
    this.#push({ scope, key, at });
    if (this.#heap.length > MIN_COMPACTION && this.#heap.length > 2 * this.#ends.size) this.#compact();
  }

  /** The first that ends. */
  first(): Expiry | undefined {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (this.#holds(first)) return first;
      this.#pop();
    }
    return undefined;
  }

  /** Those that ended at `now`, at most `limit`, in the order of their ends. */
  until(now: number, limit: number): Expiry[] {
    const ended = new Map<string, Expiry>();
    for (let first = this.first(); first !== undefined && first.at <= now && ended.size < limit; first = this.first()) {
      ended.set(itemName(first.scope, first.key), first);
      this.#pop();
    }
    for (const expiry of ended.values()) this.#push(expiry);
    return [...ended.values()];
  }

  /** Takes out everything that ends; each item once. */
  takeAll(): readonly Expiry[] {
    this.#compact();
    const all = this.#heap;
    this.clear();
    return all;
  }

  clear(): void {
    this.#ends.clear();
    this.#heap = [];
  }

  #holds(expiry: Expiry): boolean {
    return this.#ends.get(itemName(expiry.scope, expiry.key)) === expiry.at;
  }

  /** An array in order is a heap. An item that ended at one time, then at another, then at the first again has two equal entries. */
  #compact(): void {
    const kept = new Map<string, Expiry>();
    for (const expiry of this.#heap) if (this.#holds(expiry)) kept.set(itemName(expiry.scope, expiry.key), expiry);
    this.#heap = [...kept.values()].sort((a, b) => a.at - b.at);
  }

  #push(expiry: Expiry): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(expiry);
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      const above = heap[parent];
      if (above === undefined || above.at <= expiry.at) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = expiry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && (heap[child + 1]?.at ?? 0) < (heap[child]?.at ?? 0)) child += 1;
      const below = heap[child];
      if (below === undefined || below.at >= last.at) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = last;
  }
}
