import type { FunctionId } from "@svc-runtime/protocol";
import type { Binding } from "./trigger-binding.ts";

/** An index of bindings by function. */
export class BindingsByFunction {
  readonly #bindings = new Map<FunctionId, Set<Binding>>();

  add(id: FunctionId, binding: Binding): void {
    const known = this.#bindings.get(id);
    if (known === undefined) this.#bindings.set(id, new Set([binding]));
    else known.add(binding);
  }

  delete(id: FunctionId, binding: Binding): void {
    const known = this.#bindings.get(id);
    known?.delete(binding);
    if (known?.size === 0) this.#bindings.delete(id);
  }

  of(id: FunctionId): Iterable<Binding> {
    return this.#bindings.get(id) ?? [];
  }
}
