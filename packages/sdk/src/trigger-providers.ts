import type { WireError } from "@svc/protocol";
import type { Logger } from "./logger.ts";
import type { Binding } from "./provided-bindings.ts";
import { callErrorFrom } from "./thrown.ts";

/** Binds and lets go of the triggers of one type. Both may be asynchronous; for one binding they never overlap. */
export interface TriggerHandlers {
  /** Throwing refuses the binding; the message reaches the worker that asked for it. */
  registerTrigger(binding: Binding): unknown;
  /** Called for each binding that was bound: when it is removed, and when the connection is lost (the engine then delivers it anew). */
  unregisterTrigger(binding: Binding): unknown;
}

/** Asks this worker's trigger handlers to bind and let go, one thing at a time for each binding. */
export class TriggerProviders {
  readonly #answer: (binding: Binding, error?: WireError) => void;
  readonly #logger: Logger;
  readonly #handlers = new Map<string, TriggerHandlers>();
  /** Bindings whose handler succeeded, with the handlers that must let go of them. */
  readonly #bound = new Map<Binding, TriggerHandlers>();
  readonly #tails = new Map<string, Promise<void>>();

  constructor(options: { readonly answer: (binding: Binding, error?: WireError) => void; readonly logger: Logger }) {
    this.#answer = options.answer;
    this.#logger = options.logger;
  }

  add(type: string, handlers: TriggerHandlers): void {
    this.#handlers.set(type, handlers);
  }

  /** Removes this registration only; a later one of the same type stays. */
  remove(type: string, handlers: TriggerHandlers): boolean {
    return this.#handlers.get(type) === handlers && this.#handlers.delete(type);
  }

  bind(binding: Binding): void {
    const handlers = this.#handlers.get(binding.trigger_type);
    if (handlers === undefined) {
      this.#answer(binding, { code: "trigger_type_not_found", message: `Trigger type ${binding.trigger_type} not found` });
      return;
    }
    this.#inTurn(binding, async () => {
      try {
        await handlers.registerTrigger(binding);
      } catch (thrown) {
        const error = callErrorFrom(thrown);
        this.#answer(binding, { code: "trigger_registration_failed", message: error.message, details: error.details });
        return;
      }
      this.#bound.set(binding, handlers);
      this.#answer(binding);
    });
  }

  unbind(binding: Binding): void {
    this.#inTurn(binding, async () => {
      const handlers = this.#bound.get(binding);
      if (handlers === undefined) return;
      this.#bound.delete(binding);
      await handlers.unregisterTrigger(binding);
    });
  }

  #inTurn(binding: Binding, step: () => Promise<void>): void {
    const before = this.#tails.get(binding.id) ?? Promise.resolve();
    const tail = before
      .then(step)
      .catch((error: unknown) => this.#logger.error("a trigger handler failed", { trigger_type: binding.trigger_type, trigger_id: binding.id, error }))
      .finally(() => {
        if (this.#tails.get(binding.id) === tail) this.#tails.delete(binding.id);
      });
    this.#tails.set(binding.id, tail);
  }

  /** Resolves when every step that was asked for is through. */
  async settled(): Promise<void> {
    await Promise.all(this.#tails.values());
  }
}
