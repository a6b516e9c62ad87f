import type { ImportItem } from "./state-types.ts";

export type Items = Iterable<ImportItem> | AsyncIterable<ImportItem>;

/** Items of an import. Their iterator was already created. */
export interface OpenItems {
  readonly items: Items;
  /** True if the import iterates over the items. It then closes the iterator itself. */
  hasBegun: boolean;
  /** Closes the iterator if the import did not begin. */
  close(): Promise<void>;
}

/**
 * Creates the iterator before the first await. The reason: node:readline emits lines from the start, and lines without
 * a listener are lost.
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
