/**
 * Listeners of one kind of event. If the same function is added twice, it is called twice, and each addition is removed
 * separately.
 */
export class Listeners<Args extends readonly unknown[]> {
  readonly #entries = new Set<{ readonly listener: (...args: Args) => void }>();

  /** Adds a listener. Returns a function that removes it. */
  add(listener: (...args: Args) => void): () => void {
    const entry = { listener };
    this.#entries.add(entry);
    return () => {
      this.#entries.delete(entry);
    };
  }

  /**
   * Calls all listeners. If a listener throws, `onError` is called with the error, and the other listeners are still
   * called.
   */
  notify(args: Args, onError: (error: unknown) => void): void {
    for (const { listener } of [...this.#entries]) {
      try {
        listener(...args);
      } catch (error) {
        onError(error);
      }
    }
  }
}
