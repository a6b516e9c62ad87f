import type { ImportItem } from "./state-types.ts";

export type Items = Iterable<ImportItem> | AsyncIterable<ImportItem>;

/** Items whose iterator exists. */
export interface OpenItems {
  readonly items: Items;
  /** Whether the import iterates over the items and closes the iterator itself. */
  hasBegun: boolean;
  /** Closes the iterator of an import that did not begin. */
  close(): Promise<void>;
}

/**
 * Gets the iterator before the first await: node:readline emits lines from the start, and lines without a listener are
 * lost.
 */
export function openItems(given: Items): OpenItems {
  const iterator = Symbol.asyncIterator in given ? given[Symbol.asyncIterator]() : undefined;
  return {
    items: iterator === undefined ? given : { [Symbol.asyncIterator]: () => iterator },
    hasBegun: false,
    async close() {
      if (!this.hasBegun) await iterator?.return?.();
    },
  };
}
