import type { InvocationId } from "@svc/protocol";
import type { Call } from "./call.ts";

/**
 * The in-flight calls of one provider. Results are looked up only here, so a worker can settle only calls that were
 * sent to it. When the worker disconnects, exactly these calls end.
 */
export class PendingCalls {
  // Created with the first call: a connection that only calls never has one.
  #calls: Map<InvocationId, Call> | undefined;

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
    if (this.#calls?.get(call.id) === call) this.#calls.delete(call.id);
  }

  all(): Call[] {
    return [...(this.#calls?.values() ?? [])];
  }
}
