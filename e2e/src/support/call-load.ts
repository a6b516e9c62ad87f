export interface CallLoadOptions<Result> {
  /** Time between two calls, in milliseconds. */
  readonly everyMs: number;
  /** Makes one call; `made` is the number of calls before it. */
  readonly call: (made: number) => Promise<Result>;
}

/** Makes calls at a steady rate until `end`. */
export class CallLoad<Result> {
  /** Error codes of the calls that failed. */
  readonly failures: string[] = [];
  readonly #options: CallLoadOptions<Result>;
  readonly #timer: NodeJS.Timeout;
  readonly #pending = new Set<Promise<void>>();
  readonly #watchers = new Set<(result?: Result) => void>();
  #made = 0;

  constructor(options: CallLoadOptions<Result>) {
    this.#options = options;
    this.#timer = setInterval(() => this.#call(), options.everyMs);
  }

  /** Number of calls so far. */
  get made(): number {
    return this.#made;
  }

  /** Resolves when `count` more calls have been made. */
  more(count: number): Promise<void> {
    const until = this.#made + count;
    return this.#until(() => this.#made >= until);
  }

  /** Resolves when a call returns such a result. */
  result(isWanted: (result: Result) => boolean): Promise<void> {
    return this.#until((result) => result !== undefined && isWanted(result));
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#pending);
  }

  #call(): void {
    const call = this.#options
      .call(this.#made++)
      .then(
        (result) => this.#notify(result),
        (error: { readonly code: string }) => void this.failures.push(error.code),
      )
      .finally(() => this.#pending.delete(call));
    this.#pending.add(call);
    this.#notify();
  }

  #notify(result?: Result): void {
    for (const watcher of [...this.#watchers]) watcher(result);
  }

  #until(isSo: (result?: Result) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const watcher = (result?: Result): void => {
        if (!isSo(result)) return;
        this.#watchers.delete(watcher);
        resolve();
      };
      this.#watchers.add(watcher);
    });
  }
}
