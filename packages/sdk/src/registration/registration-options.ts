import { optionNames } from "../names/option-names.ts";
import type { Format, JsonSchema } from "../schema/schema.ts";
import type { InputOf, OutputOf, StandardSchema } from "../schema/standard-schema.ts";

export interface FunctionOptions<
  Request extends Format | undefined = Format | undefined,
  Response extends Format | undefined = Format | undefined,
> {
  readonly description?: string | undefined;
  /**
   * Schema of the payload. A Standard Schema (zod, valibot, arktype) also types the handler's input and is enforced
   * before the handler runs.
   */
  readonly requestFormat?: Request;
  /** Schema of the result, shown in listings. A Standard Schema also types the handler's result. Not enforced. */
  readonly responseFormat?: Response;
  /** Any JSON, shown in listings. */
  readonly metadata?: unknown;
  /** Deadline of calls of this function without `timeoutMs`, in milliseconds, 1 to 86,400,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether the engine rejects payloads that do not match `requestFormat`, before they are sent here. Default: the
   * engine's config, usually not.
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

/** Result type of a handler whose function has this response format. */
export type ResultFor<Response> = Response extends StandardSchema ? InputOf<Response> : unknown;
/** A format that is shown in listings and not enforced by the SDK. */
export type ShownFormat = JsonSchema | boolean;

export interface Registration {
  readonly id: string;
  /** Removes this registration. Further calls do nothing. Calls in flight are finished. */
  unregister(): void;
}

/** `Config` and `Call` are the types of the two formats. */
export interface TriggerTypeInput<
  Config extends Format | undefined = Format | undefined,
  Call extends Format | undefined = Format | undefined,
> {
  readonly id: string;
  readonly description: string;
  /**
   * Schema of a trigger's config. A Standard Schema also types the bindings' config and rejects configs that do not
   * match.
   */
  readonly triggerRequestFormat?: Config;
  /** Schema of the payload with which this type calls functions. */
  readonly callRequestFormat?: Call;
  /** Whether the engine rejects triggers whose config does not match `triggerRequestFormat`. Default false. */
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

/** Options of a function that is registered together with a trigger of a type. */
export interface TriggeredFunctionOptions extends FunctionOptions<ShownFormat | undefined> {
  /** The handler receives it as `context.metadata` in each call by the trigger. */
  readonly triggerMetadata?: unknown;
  /** @deprecated Use `triggerMetadata`. */
  readonly trigger_metadata?: unknown;
}

export const triggeredFunctionOptions = optionNames(
  "registerFunction of a trigger type",
  [...FUNCTION_OPTIONS, "triggerMetadata"],
  { ...OLD_FUNCTION_OPTIONS, trigger_metadata: "triggerMetadata" },
);

/** Config type in the handlers of a trigger type. */
export type ConfigFor<Config> = Config extends StandardSchema ? OutputOf<Config> : unknown;
