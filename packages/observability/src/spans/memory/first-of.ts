/** Collects the first `count` items in an order, without sorting all items. */
export class FirstOf<Item> {
  readonly #count: number;
  readonly #compare: (a: Item, b: Item) => number;
  #items: Item[] = [];
  /** The last of the first items so far. An item that is not before it is not among the first. */
  #last: Item | undefined;

  constructor(count: number, compare: (a: Item, b: Item) => number) {
    this.#count = count;
    this.#compare = compare;
  }

  add(item: Item): void {
    if (this.#last !== undefined && this.#compare(item, this.#last) >= 0) return;
    this.#items.push(item);
    if (this.#items.length >= 2 * this.#count) this.#last = this.sorted().at(-1);
  }

  sorted(): readonly Item[] {
    this.#items.sort(this.#compare);
    this.#items.length = Math.min(this.#items.length, this.#count);
    return this.#items;
  }
}
