import type { Duplex } from "node:stream";

/** Beyond, who comes before the engine serves is told to come again. A client gives up after its own time, and then makes room. */
const MAX_HELD = 1_000;

/**
 * Clients that came before the engine serves. They wait for the moment in which every module has started: a worker that was let in at once would
 * find `state::get` missing after each restart, and one published client never comes back when it is refused.
 */
export class HeldUpgrades {
  /** How each goes on, with its stream. */
  readonly #held = new Map<() => void, Duplex>();
  #isOpen = false;

  /** Whether clients go on at once. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Calls `go` when the engine serves, unless the client has gone by then. False: there is no room. */
  hold(stream: Duplex, go: () => void): boolean {
    if (this.#held.size >= MAX_HELD) return false;
    const forget = (): void => {
      this.#held.delete(resume);
      stream.off("close", forget);
      stream.off("error", onError);
    };
    const onError = (): void => void stream.destroy();
    const resume = (): void => {
      forget();
      if (!stream.destroyed) go();
    };
    this.#held.set(resume, stream);
    stream.once("close", forget);
    stream.on("error", onError);
    return true;
  }

  /** In the order in which they came. */
  open(): void {
    this.#isOpen = true;
    for (const resume of [...this.#held.keys()]) resume();
  }

  /** Cuts those who wait. */
  dropAll(): void {
    for (const stream of [...this.#held.values()]) stream.destroy();
  }
}
