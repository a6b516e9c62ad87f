/**
 * Functions that triggers of restricted connections name. The permission is checked when a trigger is bound, and again
 * whenever one of its functions is registered, because the id may then belong to another principal.
 */
export class WatchedTargets {
  readonly #watchers = new Map<string, Set<() => void>>();

  watch(ids: readonly string[], recheck: () => void): () => void {
    const watcher = (): void => recheck();
    for (const id of ids) {
      const others = this.#watchers.get(id);
      if (others === undefined) this.#watchers.set(id, new Set([watcher]));
      else others.add(watcher);
    }
    return () => {
      for (const id of ids) {
        const others = this.#watchers.get(id);
        others?.delete(watcher);
        if (others?.size === 0) this.#watchers.delete(id);
      }
    };
  }

  /**
   * Runs the checks of all triggers that name the function. Called when the function is registered, for the first time
   * or again.
   */
  registered(id: string): void {
    for (const recheck of [...(this.#watchers.get(id) ?? [])]) recheck();
  }
}
