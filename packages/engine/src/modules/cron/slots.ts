/** Lets so many go on at a time; the others wait in the order in which they came. */
export class Slots {
  #free: number;
  readonly #waiting: ((mayGoOn: boolean) => void)[] = [];
  #closed = false;

  constructor(count: number) {
    this.#free = count;
  }

  /** True once there is a slot, which is to be given back; false when there will be none any more. */
  take(): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false);
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  giveBack(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next(true);
  }

  /** Sends away who waits, and all who come. */
  close(): void {
    this.#closed = true;
    for (const resolve of this.#waiting.splice(0)) resolve(false);
  }
}
