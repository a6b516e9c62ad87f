import type { CallRunner, FunctionEntry } from "./call-runner.ts";
import type { Handler } from "./calls.ts";
import { type HttpFunction, httpFunctionProblem, notInvokable } from "./http-function.ts";
import { timeoutProblem } from "./refusals.ts";
import type { FunctionOptions, Registration, TriggerTypeInput } from "./registration-options.ts";
import { isZodSchema, toJsonSchema } from "./schema.ts";
import type { Session } from "./session.ts";
import type { ProvidedType, TriggerHandlers, TriggerProviders } from "./trigger-providers.ts";

interface Parts {
  readonly session: Session;
  readonly runner: CallRunner;
  readonly providers: TriggerProviders;
}

/**
 * Registers the functions and trigger types that a worker provides: announces them to the engine and keeps their
 * handlers.
 */
export class OwnRegistrations {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  addFunction(id: string, handler: Handler<never> | HttpFunction, options: FunctionOptions): Registration {
    const { session, runner } = this.#parts;
    const httpFunction = typeof handler === "function" ? undefined : handler;
    const refusal = typeof handler === "function" ? undefined : httpFunctionProblem(handler);
    if (refusal !== undefined) throw new TypeError(`the handler of function ${id} ${refusal}`);
    const problem = timeoutProblem(options.timeout_ms, `timeout_ms of function ${id}`);
    if (problem !== undefined) throw new TypeError(problem);
    session.registerFunction({
      id,
      description: options.description,
      request_format: toJsonSchema(options.request_format, `request_format of function ${id}`),
      response_format: toJsonSchema(options.response_format, `response_format of function ${id}`),
      metadata: options.metadata,
      timeout_ms: options.timeout_ms,
      validate: options.validate,
      invocation: httpFunction,
    });
    // Every overload of the worker's method ties the handler's input to the schema's output or to the type that the
    // author declares.
    const entry: FunctionEntry = {
      handler: typeof handler === "function" ? (handler as Handler<unknown>) : notInvokable(id),
      schema: isZodSchema(options.request_format) ? options.request_format : undefined,
    };
    runner.add(id, entry);
    return {
      id,
      unregister: () => {
        if (runner.remove(id, entry)) session.unregisterFunction(id);
      },
    };
  }

  /**
   * Returns a function that unregisters the type. The handlers receive the schema's output, or the raw config if there
   * is no schema.
   */
  addTriggerType(type: TriggerTypeInput, handlers: TriggerHandlers): () => void {
    const { session, providers } = this.#parts;
    const { id } = type;
    session.registerTriggerType({
      id,
      description: type.description,
      trigger_request_format: toJsonSchema(type.trigger_request_format, `trigger_request_format of trigger type ${id}`),
      call_request_format: toJsonSchema(type.call_request_format, `call_request_format of trigger type ${id}`),
      validate: type.validate,
    });
    const provided: ProvidedType = {
      handlers,
      schema: isZodSchema(type.trigger_request_format) ? type.trigger_request_format : undefined,
    };
    providers.add(id, provided);
    return () => {
      if (providers.remove(id, provided)) session.unregisterTriggerType(id);
    };
  }
}
