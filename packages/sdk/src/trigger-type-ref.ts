import type { Handler } from "./calls.ts";
import type { FunctionOptions, HandFormat, Registration } from "./registration-options.ts";
import type { InputOf, OutputOf, ZodSchema } from "./schema.ts";
import type { RegisteredTrigger } from "./triggers.ts";

/** The config that a trigger of the type may give. */
type GivenConfig<Config> = Config extends ZodSchema ? InputOf<Config> : unknown;
/** The payload with which the type calls functions. */
type CallPayload<Call> = Call extends ZodSchema ? OutputOf<Call> : unknown;

/** A trigger type that this worker provides, with shortcuts to use it in the same worker. */
export interface TriggerTypeRef<Config = unknown, Call = unknown> extends Registration {
  /** `worker.registerTrigger` with this type. */
  registerTrigger(functionId: string, config: GivenConfig<Config>, metadata?: unknown): RegisteredTrigger;
  /** Registers a function and a trigger of this type for it; `unregister` undoes both. */
  registerFunction(
    functionId: string,
    handler: Handler<CallPayload<Call>>,
    config: GivenConfig<Config>,
    options?: FunctionOptions<HandFormat> & { readonly trigger_metadata?: unknown },
  ): Registration & { readonly trigger: RegisteredTrigger };
}

/** What a ref needs of its worker. */
interface Registrar {
  registerFunction(id: string, handler: Handler<unknown>, options: FunctionOptions<HandFormat>): Registration;
  registerTrigger(trigger: { readonly type: string; readonly function_id: string; readonly config: unknown; readonly metadata?: unknown }): RegisteredTrigger;
}

/** The ref of a type that the worker provides. */
export function triggerTypeRef(worker: Registrar, type: string, unregister: () => void): TriggerTypeRef {
  const registerTrigger = (functionId: string, config: unknown, metadata?: unknown): RegisteredTrigger =>
    worker.registerTrigger({ type, function_id: functionId, config, metadata });
  return {
    id: type,
    unregister,
    registerTrigger,
    registerFunction(functionId, handler, config, options = {}) {
      const registration = worker.registerFunction(functionId, handler, options);
      let trigger: RegisteredTrigger;
      try {
        trigger = registerTrigger(functionId, config, options.trigger_metadata);
      } catch (error) {
        registration.unregister();
        throw error;
      }
      const undo = (): void => {
        trigger.unregister();
        registration.unregister();
      };
      return { id: functionId, trigger, unregister: undo };
    },
  };
}
