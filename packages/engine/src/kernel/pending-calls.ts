import type { InvocationId } from "@svc/protocol";
import type { Call } from "./call.ts";

/**
 * The calls that one provider is holding. An answer is looked up only here, so a worker can answer nothing that was not sent
 * to it; and when the worker leaves, exactly these calls end with it.
 */
export class PendingCalls {
  readonly #calls = new Map<InvocationId, Call>();

  get size(): number {
    return this.#calls.size;
  }

  has(id: InvocationId): boolean {
    return this.#calls.has(id);
  }

  get(id: InvocationId): Call | undefined {
    return this.#calls.get(id);
  }

  hold(call: Call): void {
    this.#calls.set(call.id, call);
  }

  release(call: Call): void {
    if (this.#calls.get(call.id) === call) this.#calls.delete(call.id);
  }

  all(): Call[] {
    return [...this.#calls.values()];
  }
}
