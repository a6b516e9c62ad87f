/** Collects items, and lets a test wait for more of them. */
export class Collected<Item> {
  readonly items: Item[] = [];
  readonly #waiting = new Set<() => void>();

  add(item: Item): void {
    this.items.push(item);
    for (const check of [...this.#waiting]) check();
  }

  /** Resolves when `isThere` returns true; checks after each new item. */
  async until(isThere: (items: readonly Item[]) => boolean): Promise<readonly Item[]> {
    while (!isThere(this.items)) await new Promise<void>((resolve) => this.#waiting.add(resolve));
    return this.items;
  }

  async count(number: number): Promise<readonly Item[]> {
    return this.until((items) => items.length >= number);
  }
}
