import type { Undo } from "../scope.ts";

/**
 * Functions that triggers of restricted connections name. Whether they may is decided when they bind, and over again whenever somebody registers
 * such a function: an id that was theirs or nobody's may have become another's.
 */
export class WatchedTargets {
  readonly #watchers = new Map<string, Set<() => void>>();

  watch(ids: readonly string[], decideAgain: () => void): Undo {
    const watcher = (): void => decideAgain();
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

  /** The function was registered, or registered anew. */
  registered(id: string): void {
    for (const decideAgain of [...(this.#watchers.get(id) ?? [])]) decideAgain();
  }
}
