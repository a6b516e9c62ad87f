import type { WireError } from "@svc-runtime/protocol/client";
import { callErrorFrom } from "../calls/thrown.ts";
import { triggerTypeNotFound } from "../connection/session.ts";
import type { Logger } from "../logger.ts";
import { engineResult } from "../names/engine-result.ts";
import { parseBySchema } from "../schema/parse-by-schema.ts";
import type { StandardSchema } from "../schema/standard-schema.ts";
import type { WireBinding } from "./provided-bindings.ts";

/** A trigger that the engine asks the provider of the trigger's type to bind. */
export interface Binding<Config = unknown> {
  readonly id: string;
  readonly triggerType: string;
  readonly functionId: string;
  readonly config: Config;
  readonly metadata?: unknown;
  /** @deprecated Use `triggerType`. */
  readonly trigger_type: string;
  /** @deprecated Use `functionId`. */
  readonly function_id: string;
}

/**
 * Binds and unbinds the triggers of one type. Both methods may be asynchronous. For the same binding, they never run at
 * the same time.
 */
export interface TriggerHandlers<Config = unknown> {
  /**
   * Binds a trigger. If it throws, the binding is rejected, and the worker that registered the trigger gets the
   * message.
   */
  registerTrigger(binding: Binding<Config>): unknown;
  /**
   * Unbinds a trigger. Called in two cases: the trigger was removed, or the connection was lost (the engine sends the
   * trigger again after a reconnect).
   */
  unregisterTrigger(binding: Binding<Config>): unknown;
}

export interface ProvidedType {
  readonly handlers: TriggerHandlers;
  /** Validates and converts the config of a binding before a handler runs. */
  readonly schema: StandardSchema | undefined;
}

/** Calls this worker's trigger handlers. For each binding, only one step runs at a time. */
export class TriggerProviders {
  readonly #answer: (binding: WireBinding, error?: WireError) => void;
  readonly #logger: Logger;
  /**
   * Bindings whose handler succeeded. For each: the object that the handler got, and the handlers that must unbind it.
   */
  readonly #bound = new Map<WireBinding, { readonly given: Binding; readonly handlers: TriggerHandlers }>();
  readonly #tails = new Map<string, Promise<void>>();

  constructor(options: {
    readonly answer: (binding: WireBinding, error?: WireError) => void;
    readonly logger: Logger;
  }) {
    this.#answer = options.answer;
    this.#logger = options.logger;
  }

  /** Binds a trigger. `provided` is undefined if the trigger type was unregistered. */
  bind(binding: WireBinding, provided: ProvidedType | undefined): void {
    if (provided === undefined) {
      this.#answer(binding, triggerTypeNotFound(binding.trigger_type));
      return;
    }
    this.#enqueue(binding, async () => {
      const { handlers, schema } = provided;
      let given: Binding;
      try {
        const config = schema === undefined ? binding.config : await configOf(binding, schema);
        given = engineResult({ ...binding, config }) as Binding;
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

  unbind(binding: WireBinding): void {
    this.#enqueue(binding, async () => {
      const bound = this.#bound.get(binding);
      if (bound === undefined) return;
      this.#bound.delete(binding);
      await bound.handlers.unregisterTrigger(bound.given);
    });
  }

  #enqueue(binding: WireBinding, step: () => Promise<void>): void {
    const before = this.#tails.get(binding.id) ?? Promise.resolve();
    const tail = before
      .then(step)
      .catch((error: unknown) =>
        this.#logger.error("a trigger handler failed", {
          trigger_type: binding.trigger_type,
          trigger_id: binding.id,
          error,
        }),
      )
      .finally(() => {
        if (this.#tails.get(binding.id) === tail) this.#tails.delete(binding.id);
      });
    this.#tails.set(binding.id, tail);
  }

  /** Resolves when all steps that were requested so far are done. */
  async settled(): Promise<void> {
    await Promise.all(this.#tails.values());
  }
}

async function configOf({ config, trigger_type }: WireBinding, schema: StandardSchema): Promise<unknown> {
  return parseBySchema(schema, config, () => ({
    text: `the config does not fit trigger type ${trigger_type}`,
    details: { trigger_type },
  }));
}
