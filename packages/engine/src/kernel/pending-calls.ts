import type { InvocationId } from "@svc/protocol";
import type { Call } from "./call.ts";

/**
 * The calls that one provider is holding. An answer is looked up only here, so a worker can answer nothing that was not sent
 * to it; and when the worker leaves, exactly these calls end with it.
 */
export class PendingCalls {
  // Made with the first call: a connection that only calls never holds one.
  #calls: Map<InvocationId, Call> | undefined;

  get size(): number {
    return this.#calls?.size ?? 0;
  }

  /** There was one at some time. */
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
