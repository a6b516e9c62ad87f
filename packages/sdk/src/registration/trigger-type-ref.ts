import type { Handler } from "../calls/call-context.ts";
import { checkedOptions } from "../names/option-names.ts";
import type { InputOf, OutputOf, StandardSchema } from "../schema/standard-schema.ts";
import {
  type FunctionOptions,
  type Registration,
  type ShownFormat,
  type TriggeredFunctionOptions,
  triggeredFunctionOptions,
} from "./registration-options.ts";
import type { RegisteredTrigger, TriggerInput } from "./triggers.ts";

/** Config type of a trigger of this type. */
type ConfigInput<Config> = Config extends StandardSchema ? InputOf<Config> : unknown;
/** Type of the payload with which the trigger type calls functions. */
type CallPayload<Call> = Call extends StandardSchema ? OutputOf<Call> : unknown;

/** A trigger type that this worker provides. It has shortcuts for use in the same worker. */
export interface TriggerTypeRef<Config = unknown, Call = unknown> extends Registration {
  /** Calls `worker.registerTrigger` with this type. */
  registerTrigger(functionId: string, config: ConfigInput<Config>, metadata?: unknown): RegisteredTrigger;
  /** Registers a function and a trigger of this type for the function. `unregister` removes both. */
  registerFunction(
    functionId: string,
    handler: Handler<CallPayload<Call>>,
    config: ConfigInput<Config>,
    options?: TriggeredFunctionOptions,
  ): Registration & { readonly trigger: RegisteredTrigger };
}

/** The methods of the worker that this file uses. */
export interface Registrar {
  registerFunction(
    id: string,
    handler: Handler<unknown>,
    options: FunctionOptions<ShownFormat | undefined>,
  ): Registration;
  registerTrigger(trigger: TriggerInput): RegisteredTrigger;
}

/** Returns the object for a trigger type that the worker provides. */
export function triggerTypeRef(worker: Registrar, type: string, unregister: () => void): TriggerTypeRef {
  const registerTrigger = (functionId: string, config: unknown, metadata?: unknown): RegisteredTrigger =>
    worker.registerTrigger({ type, functionId, config, metadata });
  return {
    id: type,
    unregister,
    registerTrigger,
    registerFunction(functionId, handler, config, given = {}) {
      const { triggerMetadata, ...options } = checkedOptions(given, triggeredFunctionOptions);
      const registration = worker.registerFunction(functionId, handler, options);
      let trigger: RegisteredTrigger;
      try {
        trigger = registerTrigger(functionId, config, triggerMetadata);
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
