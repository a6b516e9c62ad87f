import type { Handler } from "./calls.ts";
import type { FunctionOptions, Registration, ShownFormat } from "./registration-options.ts";
import type { InputOf, OutputOf, ZodSchema } from "./schema.ts";
import type { RegisteredTrigger } from "./triggers.ts";

/** Config type of a trigger of the type. */
type ConfigInput<Config> = Config extends ZodSchema ? InputOf<Config> : unknown;
/** Type of the payload with which the trigger type calls functions. */
type CallPayload<Call> = Call extends ZodSchema ? OutputOf<Call> : unknown;

/** A trigger type that this worker provides, with shortcuts for use in the same worker. */
export interface TriggerTypeRef<Config = unknown, Call = unknown> extends Registration {
  /** Calls `worker.registerTrigger` with this type. */
  registerTrigger(functionId: string, config: ConfigInput<Config>, metadata?: unknown): RegisteredTrigger;
  /** Registers a function and a trigger of this type for it. `unregister` removes both. */
  registerFunction(
    functionId: string,
    handler: Handler<CallPayload<Call>>,
    config: ConfigInput<Config>,
    options?: FunctionOptions<ShownFormat> & { readonly trigger_metadata?: unknown },
  ): Registration & { readonly trigger: RegisteredTrigger };
}

/** The used methods of the worker. */
interface Registrar {
  registerFunction(id: string, handler: Handler<unknown>, options: FunctionOptions<ShownFormat>): Registration;
  registerTrigger(trigger: {
    readonly type: string;
    readonly function_id: string;
    readonly config: unknown;
    readonly metadata?: unknown;
  }): RegisteredTrigger;
}

/** Returns the ref of a type that the worker provides. */
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
