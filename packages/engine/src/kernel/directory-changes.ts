import type { DirectoryChange } from "./directory.ts";
import type { Logger } from "./logger.ts";

/** Notifies listeners of each change in the running system. */
export class DirectoryChanges {
  readonly #listeners = new Set<(change: DirectoryChange) => void>();
  readonly #registrationListeners = new Set<(workerId: string) => void>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  emit(change: DirectoryChange): void {
    for (const listener of this.#listeners) this.#guarded(() => listener(change), { change });
  }

  /** Reports that the connection registered a function, a trigger type or a trigger, for the first time or again. */
  registered(workerId: string): void {
    this.emit({ kind: "registrations", id: workerId, op: "updated" });
    for (const listener of this.#registrationListeners) this.#guarded(() => listener(workerId), { workerId });
  }

  listen(listener: (change: DirectoryChange) => void): () => void {
    const own = (change: DirectoryChange): void => listener(change);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  listenToRegistrations(listener: (workerId: string) => void): () => void {
    const own = (workerId: string): void => listener(workerId);
    this.#registrationListeners.add(own);
    return () => this.#registrationListeners.delete(own);
  }

  #guarded(notify: () => void, about: Readonly<Record<string, unknown>>): void {
    try {
      notify();
    } catch (error) {
      this.#log.error("a listener of directory changes failed", { ...about, error });
    }
  }
}
