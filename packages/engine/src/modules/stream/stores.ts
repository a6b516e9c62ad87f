import type { ItemStore } from "../../items/item-store.ts";
import { matchesNamePattern } from "./names.ts";

export interface StoresOptions {
  /** Store of all streams that are not in `memoryStreams`. */
  readonly store: ItemStore;
  /** Store of the streams in `memoryStreams`; undefined if there are none. */
  readonly memory: ItemStore | undefined;
  /** Names, or prefixes with `*`. */
  readonly memoryStreams: readonly string[];
}

/** Selects the store of a stream. */
export class Stores {
  readonly all: readonly ItemStore[];
  readonly #options: StoresOptions;

  constructor(options: StoresOptions) {
    this.#options = options;
    this.all = options.memory === undefined ? [options.store] : [options.store, options.memory];
  }

  of(stream: string): ItemStore {
    const { store, memory, memoryStreams } = this.#options;
    return memory !== undefined && memoryStreams.some((pattern) => matchesNamePattern(pattern, stream))
      ? memory
      : store;
  }

  problem(): string | undefined {
    return this.all.map((store) => store.problem()).find((problem) => problem !== undefined);
  }

  damage(): string | undefined {
    return this.all.map((store) => store.damage()).find((damage) => damage !== undefined);
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((store) => store.close()));
  }
}
