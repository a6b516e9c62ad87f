/**
 * Maps a worker's own name for a function or type to the engine's name and back. They differ if a prefix or a hook
 * renamed it. Messages to the worker always use its own name.
 */
export class LocalNames<Name extends string> {
  readonly #full = new Map<Name, Name>();
  readonly #local = new Map<Name, Name>();

  remember(local: Name, full: Name): void {
    const before = this.#local.get(full);
    if (before !== undefined) this.#full.delete(before);
    this.#full.set(local, full);
    this.#local.set(full, local);
  }

  forget(full: Name): void {
    const local = this.#local.get(full);
    this.#local.delete(full);
    // Unless the local name maps to another full name by now.
    if (local !== undefined && this.#full.get(local) === full) this.#full.delete(local);
  }

  full(local: Name): Name | undefined {
    return this.#full.get(local);
  }

  local(full: Name): Name | undefined {
    return this.#local.get(full);
  }
}
