import type { InvocationId } from "@svc-runtime/protocol";
import type { Call } from "./call.ts";

/**
 * The in-flight calls of one provider. Results of a worker are looked up only among its own calls, so a worker can
 * settle only calls that were sent to it. When the worker disconnects, `Session` fails exactly these calls.
 */
export class PendingCalls {
  // Created for the first call, because many connections never get a call.
  #calls: Map<InvocationId, Call> | undefined;
  #onEmpty: (() => void)[] | undefined;

  get size(): number {
    return this.#calls?.size ?? 0;
  }

  /** True if the provider ever had a call. */
  get hasHeld(): boolean {
    return this.#calls !== undefined;
  }

  has(id: InvocationId): boolean {
    return this.#calls?.has(id) ?? false;
  }

  get(id: InvocationId): Call | undefined {
    return this.#calls?.get(id);
  }

  hold(call: Call): void {
    this.#calls ??= new Map();
    this.#calls.set(call.id, call);
  }

  release(call: Call): void {
    if (this.#calls?.get(call.id) !== call) return;
    this.#calls.delete(call.id);
    if (this.#onEmpty === undefined || this.#calls.size > 0) return;
    for (const resolve of this.#onEmpty) resolve();
    this.#onEmpty = undefined;
  }

  /** Resolves when no call is in flight. */
  whenEmpty(): Promise<void> {
    if (this.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onEmpty = [...(this.#onEmpty ?? []), resolve];
    });
  }

  all(): Call[] {
    return [...(this.#calls?.values() ?? [])];
  }
}
