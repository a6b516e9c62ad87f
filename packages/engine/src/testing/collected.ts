/** Collects what comes, and lets a test wait for more of it. */
export class Collected<Item> {
  readonly items: Item[] = [];
  readonly #waiting = new Set<() => void>();

  add(item: Item): void {
    this.items.push(item);
    for (const look of [...this.#waiting]) look();
  }

  /** Resolves when `isThere` holds; looks each time that something has come. */
  async until(isThere: (items: readonly Item[]) => boolean): Promise<readonly Item[]> {
    while (!isThere(this.items)) await new Promise<void>((resolve) => this.#waiting.add(resolve));
    return this.items;
  }

  async count(number: number): Promise<readonly Item[]> {
    return this.until((items) => items.length >= number);
  }
}
