import type { DirectoryChange } from "./directory.ts";
import type { Logger } from "./logger.ts";

/** Tells listeners of each change in the running system. */
export class Changes {
  readonly #listeners = new Set<(change: DirectoryChange) => void>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  emit(change: DirectoryChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#log.error("a listener of directory changes failed", { change, error });
      }
    }
  }

  listen(listener: (change: DirectoryChange) => void): () => void {
    const own = (change: DirectoryChange): void => listener(change);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }
}
