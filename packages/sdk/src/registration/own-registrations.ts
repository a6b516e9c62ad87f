import type { CallError, MessageOf } from "@svc-runtime/protocol/client";
import type { Handler } from "../calls/call-context.ts";
import type { FunctionEntry } from "../calls/call-runner.ts";
import type { InboundCall } from "../connection/inbound.ts";
import type { Session } from "../connection/session.ts";
import { isHttpHandler } from "../http/http-handler.ts";
import type { Logger } from "../logger.ts";
import { checkedOptions } from "../names/option-names.ts";
import { OnDemand, type Part } from "../on-demand.ts";
import { timeoutProblem } from "../refusals.ts";
import { type Format, toJsonSchema } from "../schema/schema.ts";
import { isStandardSchema, type StandardSchema } from "../schema/standard-schema.ts";
import { checkedHttpFunction, type HttpFunction, notInvokable, wireHttpFunction } from "./http-function.ts";
import type { Provider, ProviderOptions } from "./provider.ts";
import {
  type FunctionOptions,
  functionOptions,
  type Registration,
  type TriggerTypeInput,
  triggerTypeMembers,
} from "./registration-options.ts";
import type { ProvidedType, TriggerHandlers } from "./trigger-providers.ts";

type ProviderPart = typeof import("./provider.ts");

/**
 * The functions and trigger types that a worker provides. Announces them to the engine and stores their handlers.
 * Passes the engine's calls and bindings to the part of the SDK that runs the handlers.
 */
export class OwnRegistrations {
  readonly #session: Session;
  readonly #logger: Logger;
  readonly #provider: OnDemand<ProviderPart, Provider>;
  /**
   * Calls that wait until the part is loaded and were not cancelled, by their ids. `#waitingBindings` has the waiting
   * bindings.
   */
  readonly #waitingCalls = new Map<unknown, object>();
  readonly #waitingBindings = new Map<string, object>();
  readonly #functions = new Map<string, FunctionEntry>();
  readonly #types = new Map<string, ProvidedType>();

  constructor(part: Part<ProviderPart>, options: ProviderOptions) {
    this.#session = options.session;
    this.#logger = options.logger;
    this.#provider = new OnDemand(part, ({ Provider }) => new Provider(options));
  }

  call(call: InboundCall): void {
    // The entry is read now, so that the call runs even if its function is unregistered before the part is loaded.
    const entry = this.#functions.get(call.functionId);
    this.#provide(
      this.#waitingCalls,
      call.invocationId ?? call,
      call,
      (provider) => provider.call(call, entry),
      (error) => {
        this.#logger.error("a function cannot run", { function_id: call.functionId, error });
        this.#session.refuseCall(call, error.toWire());
      },
    );
  }

  cancelCall(invocationId: string, reason: string): void {
    this.#waitingCalls.delete(invocationId);
    this.#provider.value?.cancelCall(invocationId, reason);
  }

  bind(message: MessageOf<"registertrigger">): void {
    const type = this.#types.get(message.trigger_type);
    this.#provide(
      this.#waitingBindings,
      message.id,
      message,
      (provider) => provider.bind(message, type),
      (error) => this.#session.refuseBinding(message, error.toWire()),
    );
  }

  unbind(id: string): void {
    this.#waitingBindings.delete(id);
    this.#provider.value?.unbind(id);
  }

  disconnected(): void {
    this.#waitingCalls.clear();
    this.#waitingBindings.clear();
    this.#provider.value?.disconnected();
  }

  /** Returns one promise per call in flight. Each resolves when the call's handler ends. */
  callEnds(): readonly Promise<void>[] {
    const { value, loading } = this.#provider;
    return value?.callEnds() ?? (loading === undefined ? [] : [loading]);
  }

  /** Resolves when all bindings that were requested so far are made or removed. */
  async bindingsSettled(): Promise<void> {
    await this.#provider.value?.bindingsSettled();
  }

  /** Runs `action` when the part is loaded, unless the message was removed from `waiting` or replaced before that. */
  #provide<Id>(
    waiting: Map<Id, object>,
    id: Id,
    message: object,
    action: (provider: Provider) => void,
    fail: (error: CallError) => void,
  ): void {
    const { value } = this.#provider;
    if (value !== undefined) {
      action(value);
      return;
    }
    waiting.set(id, message);
    const ifWaiting =
      <Argument>(then: (argument: Argument) => void) =>
      (argument: Argument): void => {
        if (waiting.get(id) !== message) return;
        waiting.delete(id);
        then(argument);
      };
    this.#provider.run(ifWaiting(action), ifWaiting(fail));
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
    // The cast is safe: the overloads of the worker's method guarantee that the handler takes the schema's output, or
    // the type that the caller declares.
    const entry: FunctionEntry = {
      handler: typeof handler === "function" ? (handler as Handler<unknown>) : notInvokable(id),
      schema: schemaIn(options.requestFormat),
      keepsUnknownMembers: isHttpHandler(handler),
    };
    this.#functions.set(id, entry);
    this.#provider.load();
    return {
      id,
      unregister: () => {
        // Removes this registration only. A later registration may have the same id.
        if (this.#functions.get(id) !== entry) return;
        this.#functions.delete(id);
        this.#session.unregisterFunction(id);
      },
    };
  }

  /**
   * Adds a trigger type. Returns a function that unregisters it. The handlers receive the schema's output, or the raw
   * config if there is no schema.
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
    this.#provider.load();
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
