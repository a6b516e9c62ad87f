import type { Format, InputOf, JsonSchema, OutputOf, ZodSchema } from "./schema.ts";

export interface FunctionOptions<Request extends Format | undefined = Format | undefined, Response extends Format | undefined = Format | undefined> {
  readonly description?: string | undefined;
  /** What the payload looks like. A zod schema also types the handler's input and is enforced before the handler runs. */
  readonly request_format?: Request;
  /** What the result looks like; shown, and by a zod schema also typed, but not enforced. */
  readonly response_format?: Response;
  /** Descriptive only; any JSON. */
  readonly metadata?: unknown;
  /** Deadline that the engine gives calls of this function that name none, in milliseconds, 1 to 86,400,000. */
  readonly timeout_ms?: number | undefined;
  /** The engine refuses payloads that do not fit `request_format`, before they travel here. Default: what the engine's config says, usually not. */
  readonly validate?: boolean | undefined;
}

/** What a handler may return where its function has this response format. */
export type ResultFor<Response> = Response extends ZodSchema ? InputOf<Response> : unknown;
/** A format that is only shown. */
export type HandFormat = JsonSchema | boolean;

export interface Registration {
  readonly id: string;
  /** Undoes this registration. Once is enough; again does nothing. Calls in hand are finished. */
  unregister(): void;
}

/** `Config` and `Call` are the formats' types. */
export interface TriggerTypeInput<Config extends Format | undefined = Format | undefined, Call extends Format | undefined = Format | undefined> {
  readonly id: string;
  readonly description: string;
  /** What the config of a trigger of this type looks like. A zod schema also types the bindings' config and refuses those that do not fit. */
  readonly trigger_request_format?: Config;
  /** What the payload looks like with which functions are called. */
  readonly call_request_format?: Call;
  /** The engine refuses triggers whose config does not fit `trigger_request_format`. Default false. */
  readonly validate?: boolean | undefined;
}

/** The config that the handlers of a trigger type get. */
export type ConfigFor<Config> = Config extends ZodSchema ? OutputOf<Config> : unknown;
