import type { PendingCall } from "./pending-calls.ts";

/**
 * Cancels calls when their signal aborts. It registers one listener per signal, even if many calls share the signal.
 * The reason: Node prints a warning when a signal has more than ten listeners, and a handler may make a hundred calls.
 */
export class AbortWatch {
  readonly #withdraw: (call: PendingCall) => void;
  readonly #watched = new WeakMap<AbortSignal, Set<PendingCall>>();

  constructor(withdraw: (call: PendingCall) => void) {
    this.#withdraw = withdraw;
  }

  /** Cancels the call when the signal aborts. The signal must not be aborted yet, and the call must not have ended. */
  watch(signal: AbortSignal, call: PendingCall): void {
    const calls = this.#watched.get(signal) ?? this.#listen(signal);
    calls.add(call);
    call.onEnd = () => calls.delete(call);
  }

  #listen(signal: AbortSignal): Set<PendingCall> {
    const calls = new Set<PendingCall>();
    this.#watched.set(signal, calls);
    signal.addEventListener(
      "abort",
      () => {
        for (const call of [...calls]) this.#withdraw(call);
      },
      { once: true },
    );
    return calls;
  }
}
