import type { Duplex } from "node:stream";

/** Maximum number of waiting clients. Further clients are asked to reconnect. */
const MAX_HELD = 1_000;

/**
 * Clients that connect before every module has started. They are neither accepted nor refused but wait, for two
 * reasons: a worker that is accepted too early would not find functions of modules, e.g. `state::get`; and one of the
 * published clients never reconnects after a refusal.
 */
export class HeldUpgrades {
  /** For each waiting client: the function that resumes it, with the stream of the client. */
  readonly #held = new Map<() => void, Duplex>();
  #isOpen = false;

  /** True if clients need not wait. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Calls `go` when the engine serves, unless the client has disconnected. Returns false if there is no room. */
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

  /** Resumes the clients in their order of arrival. */
  open(): void {
    this.#isOpen = true;
    for (const resume of [...this.#held.keys()]) resume();
  }

  /** Disconnects the waiting clients. */
  dropAll(): void {
    for (const stream of [...this.#held.values()]) stream.destroy();
  }
}
