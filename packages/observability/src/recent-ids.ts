/** A set of ids with a maximum size. The oldest ids are removed first. */
export class RecentIds {
  readonly #ids = new Set<string>();
  readonly #maxCount: number;

  constructor(maxCount: number) {
    this.#maxCount = maxCount;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
    const [oldest] = this.#ids;
    if (this.#ids.size > this.#maxCount && oldest !== undefined) this.#ids.delete(oldest);
  }
}
