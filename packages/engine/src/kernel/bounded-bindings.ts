import type { Binding } from "./trigger-binding.ts";

/** Bindings in the order of arrival, bounded by their number and by their size together. */
export class BoundedBindings {
  readonly #maxCount: number;
  readonly #maxCharacters: number;
  readonly #sizes = new Map<Binding, number>();
  #characters = 0;

  constructor(maxCount: number, maxCharacters: number) {
    this.#maxCount = maxCount;
    this.#maxCharacters = maxCharacters;
  }

  /** Returns those that no longer have room, the oldest first; they are out of here already. */
  add(binding: Binding): Binding[] {
    this.delete(binding);
    const size = binding.size;
    this.#sizes.set(binding, size);
    this.#characters += size;
    const pushedOut: Binding[] = [];
    for (const oldest of this.#sizes.keys()) {
      if (this.#sizes.size <= this.#maxCount && this.#characters <= this.#maxCharacters) break;
      pushedOut.push(oldest);
      this.delete(oldest);
    }
    return pushedOut;
  }

  delete(binding: Binding): void {
    this.#characters -= this.#sizes.get(binding) ?? 0;
    this.#sizes.delete(binding);
  }
}
