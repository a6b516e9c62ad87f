import { compareKeys, endOfPrefix } from "./key-order.ts";

/** Size of a block after a split, in strings. A block is split when it has twice this size. */
const BLOCK = 512;

/** A set of strings sorted by code point. The cost of its operations hardly grows with its size. */
export class SortedStrings {
  /** Sorted blocks. No block is empty. */
  readonly #blocks: string[][] = [];
  #size = 0;

  /** `texts` must be unique. They may be in any order. */
  constructor(texts: Iterable<string>) {
    const sorted = [...texts].sort(compareKeys);
    this.#size = sorted.length;
    for (let start = 0; start < sorted.length; start += BLOCK) this.#blocks.push(sorted.slice(start, start + BLOCK));
  }

  get size(): number {
    return this.#size;
  }

  /** Adds a text. It must not be in the set. */
  add(text: string): void {
    this.#size += 1;
    const at = Math.max(0, this.#blockOf(text));
    const block = this.#blocks[at];
    if (block === undefined) {
      this.#blocks.push([text]);
      return;
    }
    block.splice(firstNotBefore(block, text), 0, text);
    if (block.length >= 2 * BLOCK) this.#blocks.splice(at, 1, block.slice(0, BLOCK), block.slice(BLOCK));
  }

  /** Removes a text if it is in the set. */
  delete(text: string): void {
    const at = this.#blockOf(text);
    const block = this.#blocks[at];
    const index = block === undefined ? 0 : firstNotBefore(block, text);
    if (block?.[index] !== text) return;
    this.#size -= 1;
    block.splice(index, 1);
    if (block.length === 0) this.#blocks.splice(at, 1);
  }

  /** Returns the number of texts that start with `prefix`. */
  count(prefix: string): number {
    if (prefix === "") return this.#size;
    const end = endOfPrefix(prefix);
    return (end === undefined ? this.#size : this.#rank(end)) - this.#rank(prefix);
  }

  /** Yields the texts that start with `prefix` and come after `after`, in order. The set must not change meanwhile. */
  *from(prefix: string, after: string | undefined): Generator<string, void> {
    const start = after !== undefined && compareKeys(after, prefix) >= 0 ? after : prefix;
    for (let at = Math.max(0, this.#blockOf(start)); at < this.#blocks.length; at++) {
      const block = this.#blocks[at] ?? [];
      for (let index = firstNotBefore(block, start); index < block.length; index++) {
        const text = block[index] ?? "";
        if (text === after) continue;
        if (!text.startsWith(prefix)) return;
        yield text;
      }
    }
  }

  /** Returns the number of texts before `text`. */
  #rank(text: string): number {
    const at = this.#blockOf(text);
    if (at < 0) return 0;
    let before = 0;
    for (let index = 0; index < at; index++) before += this.#blocks[index]?.length ?? 0;
    return before + firstNotBefore(this.#blocks[at] ?? [], text);
  }

  /** Returns the index of the last block that starts at or before `text`, or -1. */
  #blockOf(text: string): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareKeys(this.#blocks[middle]?.[0] ?? "", text) <= 0) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

function firstNotBefore(sorted: readonly string[], text: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(sorted[middle] ?? "", text) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
