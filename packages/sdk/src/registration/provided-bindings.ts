import type { MessageOf } from "@svc-runtime/protocol/client";

/** A trigger that the engine asks the provider of the trigger's type to bind. */
export interface WireBinding {
  readonly id: string;
  readonly trigger_type: string;
  readonly function_id: string;
  readonly config: unknown;
  readonly metadata?: unknown;
}

/**
 * The bindings that the engine sent to this worker as the provider of their types. They are stored because the engine's
 * unbind message contains only the id.
 */
export class ProvidedBindings {
  readonly #byId = new Map<string, WireBinding>();

  /** Adds a binding. Returns it together with the binding that it replaces. */
  add(message: MessageOf<"registertrigger">): {
    readonly binding: WireBinding;
    readonly replaced: WireBinding | undefined;
  } {
    const replaced = this.remove(message.id);
    const binding: WireBinding = {
      id: message.id,
      trigger_type: message.trigger_type,
      function_id: message.function_id,
      config: message.config ?? null,
      metadata: message.metadata ?? undefined,
    };
    this.#byId.set(binding.id, binding);
    return { binding, replaced };
  }

  holds(binding: WireBinding): boolean {
    return this.#byId.get(binding.id) === binding;
  }

  remove(id: string): WireBinding | undefined {
    const binding = this.#byId.get(id);
    this.#byId.delete(id);
    return binding;
  }

  removeAll(): readonly WireBinding[] {
    const all = [...this.#byId.values()];
    this.#byId.clear();
    return all;
  }
}
