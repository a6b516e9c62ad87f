import { CallError } from "@svc-runtime/protocol";
import type { Clock } from "../kernel/clock.ts";
import { ItemCache, itemName } from "./item-cache.ts";
import type { Item } from "./item-store.ts";
import { type ItemAddress, isExpired } from "./plan-write.ts";

/**
 * Read cache in front of a store that settles requests in the order in which it ran them. The cache is updated when a
 * request settles, so it has the state after the last settled request. While a write to an item is in flight, reads of
 * the item go to the store. If the outcome of a write is unknown (disk failure, end of the thread, timeout), the cache
 * is cleared, and the requests that are in flight at that time no longer update it.
 */
export class CachedItems {
  readonly #cache: ItemCache;
  readonly #clock: Pick<Clock, "now">;
  /** Number of writes in flight, by scope and key. */
  readonly #writing = new Map<string, number>();
  #epoch = 0;

  constructor(maxBytes: number, clock: Pick<Clock, "now">) {
    this.#cache = new ItemCache(maxBytes);
    this.#clock = clock;
  }

  /** Returns the cached item; `{item: undefined}` if the item does not exist, undefined if it is not cached. */
  find(scope: string, key: string): { readonly item: Item | undefined } | undefined {
    // Read the clock before the lookup: if the wall clock was set, this clears the cache.
    const now = this.#clock.now();
    if (this.#writing.size > 0 && this.#writing.has(itemName(scope, key))) return undefined;
    const known = this.#cache.find(scope, key);
    if (known?.item !== undefined && isExpired(known.item, now)) return { item: undefined };
    return known;
  }

  /**
   * Sends a read to the store and returns the result of `read`. `read` calls `remember` for each item that it found.
   */
  read<Output, Answer>(
    send: () => Promise<Output>,
    read: (output: Output, remember: Remember) => Answer,
  ): Promise<Answer> {
    const remember = this.#remember();
    return send().then((output) => read(output, remember));
  }

  /**
   * Like `read`, but for a write to these items. Adds only one reaction to the store's promise, so that results keep
   * their order.
   */
  write<Output, Answer>(
    addresses: readonly ItemAddress[],
    send: () => Promise<Output>,
    read: (output: Output, remember: Remember) => Answer,
  ): Promise<Answer> {
    const remember = this.#remember();
    const names = addresses.map(({ scope, key }) => itemName(scope, key));
    for (const name of names) this.#writing.set(name, (this.#writing.get(name) ?? 0) + 1);
    return send().then(
      (output) => {
        this.#settled(names);
        return read(output, remember);
      },
      (error: unknown) => {
        this.#settled(names);
        if (mayHaveWritten(error)) this.clear();
        throw error;
      },
    );
  }

  /** Clears the cache. Results of requests in flight are not cached. */
  clear(): void {
    this.#epoch += 1;
    this.#cache.clear();
  }

  #remember(): Remember {
    const epoch = this.#epoch;
    return (scope, key, item) => {
      if (epoch === this.#epoch) this.#cache.put(scope, key, item);
    };
  }

  #settled(names: readonly string[]): void {
    for (const name of names) {
      const left = (this.#writing.get(name) ?? 1) - 1;
      if (left === 0) this.#writing.delete(name);
      else this.#writing.set(name, left);
    }
  }
}

type Remember = (scope: string, key: string, item: Item | undefined) => void;

/** False for errors with which the store rejects a request before it runs. */
function mayHaveWritten(error: unknown): boolean {
  return !CallError.is(error) || !refusals.has(error.code);
}

const refusals: ReadonlySet<string> = new Set(["overloaded", "draining", "payload_too_large"]);
