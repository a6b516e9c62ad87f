/** Takes back exactly one thing that was registered. Calling it again does nothing. */
export type Undo = () => void;

/**
 * What one owner (a worker connection, a module) has registered. When the owner goes, `end` undoes all of it, latest first.
 * No code anywhere removes "whatever holds this id now".
 */
export class Scope {
  #undos: Set<Undo> | undefined;
  #ended = false;

  get ended(): boolean {
    return this.#ended;
  }

  /** Keeps `undo` for the end of the scope. Returns an undo that also forgets it here. On an ended scope it undoes at once. */
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

  /** Undoes everything, latest first. An undo that throws does not keep the others from running; the first error is thrown at the end. */
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
