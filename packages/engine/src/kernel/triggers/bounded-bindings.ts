import type { Binding } from "./trigger-binding.ts";

/** Bindings in the order of arrival, bounded by their number and total size. */
export class BoundedBindings {
  readonly #maxCount: number;
  readonly #maxCharacters: number;
  readonly #sizes = new Map<Binding, number>();
  #characters = 0;

  constructor(maxCount: number, maxCharacters: number) {
    this.#maxCount = maxCount;
    this.#maxCharacters = maxCharacters;
  }

  /** Adds the binding. While a limit is exceeded, evicts the oldest binding. Returns the evicted bindings. */
  add(binding: Binding): Binding[] {
    this.delete(binding);
    const size = binding.size;
    this.#sizes.set(binding, size);
    this.#characters += size;
    const evicted: Binding[] = [];
    for (const oldest of this.#sizes.keys()) {
      if (this.#sizes.size <= this.#maxCount && this.#characters <= this.#maxCharacters) break;
      evicted.push(oldest);
      this.delete(oldest);
    }
    return evicted;
  }

  delete(binding: Binding): void {
    this.#characters -= this.#sizes.get(binding) ?? 0;
    this.#sizes.delete(binding);
  }
}
