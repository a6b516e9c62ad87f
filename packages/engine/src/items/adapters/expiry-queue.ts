import { type Due, DueQueue } from "../../collections/due-queue.ts";
import { itemName } from "../item-cache.ts";

export interface Expiry extends Readonly<Due> {
  readonly scope: string;
  readonly key: string;
}

interface Entry extends Due {
  readonly scope: string;
  readonly key: string;
}

/** In-memory index of items by expiry time. */
export class ExpiryQueue {
  /** Items that have an expiry time, by `itemName`. */
  readonly #entries = new Map<string, Entry>();
  #queue = new DueQueue<Entry>();

  /** Sets the expiry time of an item. `at` is undefined if the item does not expire or was deleted. */
  put(scope: string, key: string, at: number | undefined): void {
    // Fast path: most stores have no items that expire.
    if (at === undefined && this.#entries.size === 0) return;
    const name = itemName(scope, key);
    let entry = this.#entries.get(name);
    if (at === undefined) {
      if (entry === undefined) return;
      this.#entries.delete(name);
      this.#queue.delete(entry);
      return;
    }
    if (entry === undefined) {
      entry = { scope, key, dueAt: at, place: -1 };
      this.#entries.set(name, entry);
    }
    this.#queue.set(entry, at);
  }

  /** Returns the item that expires first. */
  first(): Expiry | undefined {
    return this.#queue.first;
  }

  /** Returns at most `limit` items that are expired at `now`, in the order of expiry. They stay in the queue. */
  until(now: number, limit: number): Expiry[] {
    const ended: Entry[] = [];
    for (
      let { first } = this.#queue;
      first !== undefined && first.dueAt <= now && ended.length < limit;
      { first } = this.#queue
    ) {
      ended.push(first);
      this.#queue.delete(first);
    }
    for (const entry of ended) this.#queue.set(entry, entry.dueAt);
    return ended;
  }

  /** Removes all items, and returns them. */
  takeAll(): readonly Expiry[] {
    const all = [...this.#entries.values()];
    this.clear();
    return all;
  }

  clear(): void {
    this.#entries.clear();
    this.#queue = new DueQueue();
  }
}
