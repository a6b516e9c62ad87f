import { CallError } from "@svc/protocol";
import type { Clock } from "../kernel/clock.ts";
import { ItemCache, itemName } from "./item-cache.ts";
import type { Item } from "./item-store.ts";
import { type ItemAddress, isPastEnd } from "./plan-write.ts";

/**
 * What is known of items beside a store that settles requests in the order in which it ran them. It is filled only when a request settles, so it always
 * holds what the last request that touched an item found or left; while a write of an item is on its way, reads of it must go to the store. A write
 * without a clear outcome (the disk failed, the thread ended, the deadline passed) empties it, and what was asked for before that does not fill it
 * any more.
 */
export class CachedItems {
  readonly #cache: ItemCache;
  readonly #clock: Clock;
  /** Writes on their way, counted by scope and key. */
  readonly #writing = new Map<string, number>();
  #epoch = 0;

  constructor(maxBytes: number, clock: Clock) {
    this.#cache = new ItemCache(maxBytes);
    this.#clock = clock;
  }

  /** The item; `{item: undefined}` when it is known not to be there, undefined when the store must be asked. */
  find(scope: string, key: string): { readonly item: Item | undefined } | undefined {
    // Before anything is looked up: a clock that was set makes the store forget what is cached.
    const now = this.#clock.now();
    if (this.#writing.size > 0 && this.#writing.has(itemName(scope, key))) return undefined;
    const known = this.#cache.find(scope, key);
    if (known?.item !== undefined && isPastEnd(known.item, now)) return { item: undefined };
    return known;
  }

  /** Asks the store with `send` and answers what `read` makes of it. `read` is handed what it calls for each item that it found. */
  read<Output, Answer>(send: () => Promise<Output>, read: (output: Output, remember: Remember) => Answer): Promise<Answer> {
    const remember = this.#remember();
    return send().then((output) => read(output, remember));
  }

  /** The same for a write of these items: they are not found here until it settled. One reaction to the store's promise, which keeps the order of answers. */
  write<Output, Answer>(addresses: readonly ItemAddress[], send: () => Promise<Output>, read: (output: Output, remember: Remember) => Answer): Promise<Answer> {
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

  /** Forgets everything, also what is on its way. */
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

/** A request that was refused has changed nothing. */
function mayHaveWritten(error: unknown): boolean {
  return !CallError.is(error) || !refusals.has(error.code);
}

const refusals: ReadonlySet<string> = new Set(["overloaded", "draining", "payload_too_large"]);
