import type { WireError } from "@svc/protocol";
import type { Logger } from "./logger.ts";
import type { Binding } from "./provided-bindings.ts";
import { parseBySchema, type ZodSchema } from "./schema.ts";
import { callErrorFrom } from "./thrown.ts";

/** Binds and lets go of the triggers of one type. Both may be asynchronous; for one binding they never overlap. */
export interface TriggerHandlers<Config = unknown> {
  /** Throwing refuses the binding; the message reaches the worker that asked for it. */
  registerTrigger(binding: Binding<Config>): unknown;
  /** Called for each binding that was bound: when it is removed, and when the connection is lost (the engine then delivers it anew). */
  unregisterTrigger(binding: Binding<Config>): unknown;
}

export interface ProvidedType {
  readonly handlers: TriggerHandlers;
  /** Reads the config of a binding before the handlers see it. */
  readonly schema: ZodSchema | undefined;
}

/** Asks this worker's trigger handlers to bind and let go, one thing at a time for each binding. */
export class TriggerProviders {
  readonly #answer: (binding: Binding, error?: WireError) => void;
  readonly #logger: Logger;
  readonly #types = new Map<string, ProvidedType>();
  /** Bindings whose handler succeeded: what it was given, and the handlers that must let go of it. */
  readonly #bound = new Map<Binding, { readonly given: Binding; readonly handlers: TriggerHandlers }>();
  readonly #tails = new Map<string, Promise<void>>();

  constructor(options: { readonly answer: (binding: Binding, error?: WireError) => void; readonly logger: Logger }) {
    this.#answer = options.answer;
    this.#logger = options.logger;
  }

  add(type: string, provided: ProvidedType): void {
    this.#types.set(type, provided);
  }

  /** Removes this registration only; a later one of the same type stays. */
  remove(type: string, provided: ProvidedType): boolean {
    return this.#types.get(type) === provided && this.#types.delete(type);
  }

  bind(binding: Binding): void {
    const provided = this.#types.get(binding.trigger_type);
    if (provided === undefined) {
      this.#answer(binding, { code: "trigger_type_not_found", message: `Trigger type ${binding.trigger_type} not found` });
      return;
    }
    this.#inTurn(binding, async () => {
      const { handlers, schema } = provided;
      let given = binding;
      try {
        if (schema !== undefined) given = { ...binding, config: await configOf(binding, schema) };
        await handlers.registerTrigger(given);
      } catch (thrown) {
        const error = callErrorFrom(thrown);
        this.#answer(binding, { code: "trigger_registration_failed", message: error.message, details: error.details });
        return;
      }
      this.#bound.set(binding, { given, handlers });
      this.#answer(binding);
    });
  }

  unbind(binding: Binding): void {
    this.#inTurn(binding, async () => {
      const bound = this.#bound.get(binding);
      if (bound === undefined) return;
      this.#bound.delete(binding);
      await bound.handlers.unregisterTrigger(bound.given);
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

async function configOf({ config, trigger_type }: Binding, schema: ZodSchema): Promise<unknown> {
  return parseBySchema(schema, config, () => ({ text: `the config does not fit trigger type ${trigger_type}`, details: { trigger_type } }));
}
