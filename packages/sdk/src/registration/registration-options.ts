import { optionNames } from "../names/option-names.ts";
import type { Format, JsonSchema } from "../schema/schema.ts";
import type { InputOf, OutputOf, StandardSchema } from "../schema/standard-schema.ts";

export interface FunctionOptions<
  Request extends Format | undefined = Format | undefined,
  Response extends Format | undefined = Format | undefined,
> {
  readonly description?: string | undefined;
  /**
   * Schema of the payload. If it is a Standard Schema (zod, valibot, arktype), it also gives the handler's input its
   * type, and payloads are checked before the handler runs.
   */
  readonly requestFormat?: Request;
  /**
   * Schema of the result, shown in listings. If it is a Standard Schema, it also gives the handler's result its type.
   * It is not enforced.
   */
  readonly responseFormat?: Response;
  /** Any JSON value, shown in listings. */
  readonly metadata?: unknown;
  /** Deadline of calls of this function without `timeoutMs`, in milliseconds, 1 to 86,400,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * If true, the engine rejects payloads that do not match `requestFormat` before it sends them to this worker. The
   * default is the engine's config, where it is usually off.
   */
  readonly validate?: boolean | undefined;
  /** @deprecated Use `requestFormat`. */
  readonly request_format?: Request;
  /** @deprecated Use `responseFormat`. */
  readonly response_format?: Response;
  /** @deprecated Use `timeoutMs`. */
  readonly timeout_ms?: number | undefined;
}

const FUNCTION_OPTIONS = ["description", "requestFormat", "responseFormat", "metadata", "timeoutMs", "validate"];
const OLD_FUNCTION_OPTIONS = {
  request_format: "requestFormat",
  response_format: "responseFormat",
  timeout_ms: "timeoutMs",
};
export const functionOptions = optionNames("registerFunction", FUNCTION_OPTIONS, OLD_FUNCTION_OPTIONS);

/** Type of the result of a handler whose function has this response format. */
export type ResultFor<Response> = Response extends StandardSchema ? InputOf<Response> : unknown;
/** A format that is shown in listings. The SDK does not enforce it. */
export type ShownFormat = JsonSchema | boolean;

export interface Registration {
  readonly id: string;
  /** Removes this registration. Further calls of this method do nothing. Calls in flight are finished. */
  unregister(): void;
}

/** Description of a trigger type. `Config` and `Call` are the types of its two formats. */
export interface TriggerTypeInput<
  Config extends Format | undefined = Format | undefined,
  Call extends Format | undefined = Format | undefined,
> {
  readonly id: string;
  readonly description: string;
  /**
   * Schema of a trigger's config. If it is a Standard Schema, it also gives the bindings' config its type, and configs
   * that do not match are rejected.
   */
  readonly triggerRequestFormat?: Config;
  /** Schema of the payload with which this type calls functions. */
  readonly callRequestFormat?: Call;
  /** If true, the engine rejects triggers whose config does not match `triggerRequestFormat`. Default false. */
  readonly validate?: boolean | undefined;
  /** @deprecated Use `triggerRequestFormat`. */
  readonly trigger_request_format?: Config;
  /** @deprecated Use `callRequestFormat`. */
  readonly call_request_format?: Call;
}

export const triggerTypeMembers = optionNames(
  "registerTriggerType",
  ["id", "description", "triggerRequestFormat", "callRequestFormat", "validate"],
  { trigger_request_format: "triggerRequestFormat", call_request_format: "callRequestFormat" },
);

/** Options of a function that is registered together with a trigger for it. */
export interface TriggeredFunctionOptions extends FunctionOptions<ShownFormat | undefined> {
  /** Metadata of the trigger. The handler gets it as `context.metadata` in each call by the trigger. */
  readonly triggerMetadata?: unknown;
  /** @deprecated Use `triggerMetadata`. */
  readonly trigger_metadata?: unknown;
}

export const triggeredFunctionOptions = optionNames(
  "registerFunction of a trigger type",
  [...FUNCTION_OPTIONS, "triggerMetadata"],
  { ...OLD_FUNCTION_OPTIONS, trigger_metadata: "triggerMetadata" },
);

/** Type of the config in the handlers of a trigger type. */
export type ConfigFor<Config> = Config extends StandardSchema ? OutputOf<Config> : unknown;
