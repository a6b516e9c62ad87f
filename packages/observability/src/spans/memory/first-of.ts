/** The first `count` of many items by an order, found without sorting all of them. */
export class FirstOf<Item> {
  readonly #count: number;
  readonly #compare: (a: Item, b: Item) => number;
  #items: Item[] = [];
  /** Items that are not before it are not among the first. */
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
