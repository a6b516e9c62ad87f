/**
 * Listeners of one kind of event. A function that was added twice is called twice, and each addition is removed
 * separately.
 */
export class Listeners<Args extends readonly unknown[]> {
  readonly #entries = new Set<{ readonly listener: (...args: Args) => void }>();

  /** Returns a function that removes the listener. */
  add(listener: (...args: Args) => void): () => void {
    const entry = { listener };
    this.#entries.add(entry);
    return () => {
      this.#entries.delete(entry);
    };
  }

  /** Calls all listeners. `onError` receives what a listener throws; the others are still called. */
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
