import type { Handler } from "./call-context.ts";
import type { FunctionEntry } from "./call-runner.ts";
import { isHttpHandler } from "./http/http-handler.ts";
import { checkedHttpFunction, type HttpFunction, notInvokable, wireHttpFunction } from "./http-function.ts";
import { checkedOptions } from "./names/option-names.ts";
import { timeoutProblem } from "./refusals.ts";
import {
  type FunctionOptions,
  functionOptions,
  type Registration,
  type TriggerTypeInput,
  triggerTypeMembers,
} from "./registration-options.ts";
import { type Format, toJsonSchema } from "./schema/schema.ts";
import { isStandardSchema, type StandardSchema } from "./schema/standard-schema.ts";
import type { Session } from "./session.ts";
import type { ProvidedType, TriggerHandlers } from "./trigger-providers.ts";

/** The functions and trigger types that a worker provides: announces them to the engine and keeps their handlers. */
export class OwnRegistrations {
  readonly #session: Session;
  readonly #functions = new Map<string, FunctionEntry>();
  readonly #types = new Map<string, ProvidedType>();

  constructor(session: Session) {
    this.#session = session;
  }

  functionOf(id: string): FunctionEntry | undefined {
    return this.#functions.get(id);
  }

  typeOf(id: string): ProvidedType | undefined {
    return this.#types.get(id);
  }

  addFunction(id: string, handler: Handler<never> | HttpFunction, given: FunctionOptions): Registration {
    const options = checkedOptions(given, functionOptions);
    const httpFunction = typeof handler === "function" ? undefined : checkedHttpFunction(handler, id);
    const problem = timeoutProblem(options.timeoutMs, `timeoutMs of function ${id}`);
    if (problem !== undefined) throw new TypeError(problem);
    this.#session.registerFunction({
      id,
      description: options.description,
      request_format: requestFormatOf(id, options),
      response_format: toJsonSchema(options.responseFormat, `responseFormat of function ${id}`),
      metadata: options.metadata,
      timeout_ms: options.timeoutMs,
      validate: options.validate,
      invocation: httpFunction === undefined ? undefined : wireHttpFunction(httpFunction),
    });
    // The overloads of the worker's method guarantee that the handler takes the schema's output, or the type that the
    // caller declares.
    const entry: FunctionEntry = {
      handler: typeof handler === "function" ? (handler as Handler<unknown>) : notInvokable(id),
      schema: schemaIn(options.requestFormat),
      keepsUnknownMembers: isHttpHandler(handler),
    };
    this.#functions.set(id, entry);
    return {
      id,
      unregister: () => {
        // Removes this registration only, not a later one with the same id.
        if (this.#functions.get(id) !== entry) return;
        this.#functions.delete(id);
        this.#session.unregisterFunction(id);
      },
    };
  }

  /**
   * Returns a function that unregisters the type. The handlers receive the schema's output, or the raw config if there
   * is no schema.
   */
  addTriggerType(given: TriggerTypeInput, handlers: TriggerHandlers): () => void {
    const type = checkedOptions(given, triggerTypeMembers);
    const { id } = type;
    this.#session.registerTriggerType({
      id,
      description: type.description,
      trigger_request_format: toJsonSchema(type.triggerRequestFormat, `triggerRequestFormat of trigger type ${id}`),
      call_request_format: toJsonSchema(type.callRequestFormat, `callRequestFormat of trigger type ${id}`),
      validate: type.validate,
    });
    const provided: ProvidedType = {
      handlers,
      schema: schemaIn(type.triggerRequestFormat),
    };
    this.#types.set(id, provided);
    return () => {
      if (this.#types.get(id) !== provided) return;
      this.#types.delete(id);
      this.#session.unregisterTriggerType(id);
    };
  }
}

function schemaIn(format: Format | undefined): StandardSchema | undefined {
  return isStandardSchema(format) ? format : undefined;
}

function requestFormatOf(id: string, { requestFormat, validate }: FunctionOptions): unknown {
  const format = toJsonSchema(requestFormat, `requestFormat of function ${id}`);
  if (format === undefined && requestFormat !== undefined && validate === true) {
    throw new TypeError(
      `function ${id} has validate: true, but the library of its requestFormat cannot convert it to JSON Schema; use withJsonSchema`,
    );
  }
  return format;
}
