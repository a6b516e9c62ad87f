/**
 * What a worker calls a thing, and what the engine calls it: a prefix or a hook may have renamed it. The worker goes on being spoken to in
 * its own words.
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
    // Unless it goes by another name by now.
    if (local !== undefined && this.#full.get(local) === full) this.#full.delete(local);
  }

  full(local: Name): Name | undefined {
    return this.#full.get(local);
  }

  local(full: Name): Name | undefined {
    return this.#local.get(full);
  }
}
