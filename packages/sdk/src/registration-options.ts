import type { Format, InputOf, JsonSchema, OutputOf, ZodSchema } from "./schema.ts";

export interface FunctionOptions<
  Request extends Format | undefined = Format | undefined,
  Response extends Format | undefined = Format | undefined,
> {
  readonly description?: string | undefined;
  /** Schema of the payload. A zod schema also types the handler's input and is enforced before the handler runs. */
  readonly request_format?: Request;
  /** Schema of the result, shown in listings. A zod schema also types the handler's result. Not enforced. */
  readonly response_format?: Response;
  /** Any JSON, shown in listings. */
  readonly metadata?: unknown;
  /** Deadline of calls of this function without `timeout_ms`, in milliseconds, 1 to 86,400,000. */
  readonly timeout_ms?: number | undefined;
  /**
   * Whether the engine rejects payloads that do not match `request_format`, before they are sent here. Default: the
   * engine's config, usually not.
   */
  readonly validate?: boolean | undefined;
}

/** Result type of a handler whose function has this response format. */
export type ResultFor<Response> = Response extends ZodSchema ? InputOf<Response> : unknown;
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
   * Schema of a trigger's config. A zod schema also types the bindings' config and rejects configs that do not match.
   */
  readonly trigger_request_format?: Config;
  /** Schema of the payload with which this type calls functions. */
  readonly call_request_format?: Call;
  /** Whether the engine rejects triggers whose config does not match `trigger_request_format`. Default false. */
  readonly validate?: boolean | undefined;
}

/** Config type in the handlers of a trigger type. */
export type ConfigFor<Config> = Config extends ZodSchema ? OutputOf<Config> : unknown;
