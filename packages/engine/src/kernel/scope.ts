/** Removes exactly one registration. Calling it again has no effect. */
export type Undo = () => void;

/**
 * The registrations of one owner (a worker connection or a module). When the owner ends, `end` undoes all of them, the
 * latest first. So no code needs to remove a registration by its id, which could be the registration of another owner.
 */
export class Scope {
  #undos: Set<Undo> | undefined;
  #ended = false;

  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Adds `undo` to the scope. Returns an undo that also removes it from the scope. On an ended scope, undoes at once.
   */
  add(undo: Undo): Undo {
    if (this.#ended) {
      undo();
      return () => {};
    }
    const once = (): void => {
      if (this.#undos?.delete(once)) undo();
    };
    this.#undos ??= new Set();
    this.#undos.add(once);
    return once;
  }

  /**
   * Undoes everything, the latest first. If an undo throws, the others still run; the first error is thrown at the end.
   */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    let failure: { readonly error: unknown } | undefined;
    for (const undo of [...(this.#undos ?? [])].reverse()) {
      try {
        undo();
      } catch (error) {
        failure ??= { error };
      }
    }
    this.#undos = undefined;
    if (failure !== undefined) throw failure.error;
  }
}
