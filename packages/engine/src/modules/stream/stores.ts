import type { ItemStore } from "../../items/item-store.ts";
import { namePatternFits } from "./names.ts";

export interface StoresOptions {
  /** Keeps what is not in memory. */
  readonly store: ItemStore;
  /** Keeps the streams of `memoryStreams`; undefined when there are none. */
  readonly memory: ItemStore | undefined;
  /** Names, or beginnings with `*`. */
  readonly memoryStreams: readonly string[];
}

/** Which store keeps which stream. */
export class Stores {
  readonly all: readonly ItemStore[];
  readonly #options: StoresOptions;

  constructor(options: StoresOptions) {
    this.#options = options;
    this.all = options.memory === undefined ? [options.store] : [options.store, options.memory];
  }

  of(stream: string): ItemStore {
    const { store, memory, memoryStreams } = this.#options;
    return memory !== undefined && memoryStreams.some((pattern) => namePatternFits(pattern, stream)) ? memory : store;
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
