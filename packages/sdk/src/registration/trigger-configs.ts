import type { FunctionChoice } from "../calls/call-request.ts";

export type HttpMethod = "DELETE" | "GET" | "HEAD" | "OPTIONS" | "PATCH" | "POST" | "PUT";

/** A function that runs before or after the handler of a route. */
export type HttpMiddleware = FunctionChoice & {
  /** Phase in which the function runs. Default `preHandler`. */
  readonly phase?: "preHandler" | "postHandler" | undefined;
  /** Order within a phase: lower values run first. Default 0. */
  readonly priority?: number | undefined;
  /** True if the function gets the request's body. Default false. */
  readonly withBody?: boolean | undefined;
  /** @deprecated Use `withBody`. */
  readonly with_body?: boolean | undefined;
};

/** Which pages of other origins may use a route. */
export interface HttpCors {
  readonly allowedOrigins: readonly string[];
  readonly allowedMethods?: readonly string[] | undefined;
  readonly allowedHeaders?: readonly string[] | undefined;
  readonly exposedHeaders?: readonly string[] | undefined;
  readonly credentials?: boolean | undefined;
  /** Maximum time for which a browser may cache a preflight response, in seconds. */
  readonly maxAge?: number | undefined;
}

/** @deprecated Use `HttpCors`. */
export interface OldHttpCors {
  readonly allowed_origins: readonly string[];
  readonly allowed_methods?: readonly string[] | undefined;
  readonly allowed_headers?: readonly string[] | undefined;
  readonly exposed_headers?: readonly string[] | undefined;
  readonly credentials?: boolean | undefined;
  readonly max_age?: number | undefined;
}

/** Settings of a route. Members that are left out have the values of the config block `svc-http`. */
export interface HttpRouteSettings {
  /** Function that is called first. If it returns false, the response has the status 422. */
  readonly conditionFunctionId?: string | undefined;
  readonly middlewareFunctionIds?: readonly (string | HttpMiddleware)[] | undefined;
  /** Timeout of the function, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /**
   * If false, the function gets no channels for body and response, which makes requests slightly cheaper. Default true.
   */
  readonly streaming?: boolean | undefined;
  /** Maximum size of a body, in bytes. It applies to bodies that are read as a whole. */
  readonly bodyLimitBytes?: number | undefined;
  /** Maximum size of a multipart form, in bytes. */
  readonly formLimitBytes?: number | undefined;
  /** Maximum number of concurrent requests of this route. */
  readonly concurrencyLimit?: number | undefined;
  /** Maximum number of requests that wait while `concurrencyLimit` is reached. Default 0. */
  readonly queueLimit?: number | undefined;
  /** Maximum number of requests of one client per interval of `perMs` milliseconds. */
  readonly rateLimit?: { readonly requests: number; readonly perMs: number } | undefined;
  readonly cors?: HttpCors | false | undefined;
  readonly compression?: boolean | undefined;
}

interface DescribedConfig {
  /** Purpose of the trigger. It is shown in listings and has no effect. */
  readonly description?: string | undefined;
}

/** In `apiPath`, `:name` matches one segment. At the end, `*name` matches all remaining segments. */
type HttpPath =
  | { readonly api_path: string; readonly apiPath?: undefined }
  | { readonly apiPath: string; readonly api_path?: undefined };

/**
 * Config of an `http` trigger. Both spellings of `api_path` and `http_method` are valid, because the specification uses
 * these names.
 */
export type HttpTriggerConfig = HttpPath &
  DescribedConfig &
  Omit<HttpRouteSettings, "cors"> & {
    /** In upper or lower case. Default GET. */
    readonly http_method?: HttpMethod | Lowercase<HttpMethod> | undefined;
    readonly httpMethod?: HttpMethod | Lowercase<HttpMethod> | undefined;
    /** With `stream`, the body is not parsed but passed on in `request_body` while it arrives. Default `auto`. */
    readonly body?: "auto" | "stream" | undefined;
    readonly cors?: HttpCors | OldHttpCors | false | undefined;
    /** @deprecated Use `conditionFunctionId`. */
    readonly condition_function_id?: string | undefined;
    /** @deprecated Use `middlewareFunctionIds`. */
    readonly middleware_function_ids?: readonly (string | HttpMiddleware)[] | undefined;
    /** @deprecated Use `timeoutMs`. */
    readonly timeout_ms?: number | undefined;
    /** @deprecated Use `bodyLimitBytes`. */
    readonly body_limit_bytes?: number | undefined;
    /** @deprecated Use `formLimitBytes`. */
    readonly form_limit_bytes?: number | undefined;
    /** @deprecated Use `concurrencyLimit`. */
    readonly concurrency_limit?: number | undefined;
    /** @deprecated Use `queueLimit`. */
    readonly queue_limit?: number | undefined;
    /** @deprecated Use `rateLimit`. */
    readonly rate_limit?: { readonly requests: number; readonly per_ms: number } | undefined;
  };

interface CommonConfig extends DescribedConfig {
  /** Function that is called first with the event. If it returns false, the trigger's function is not called. */
  readonly conditionFunctionId?: string | undefined;
  /** @deprecated Use `conditionFunctionId`. */
  readonly condition_function_id?: string | undefined;
}

/** Filter of a `state` trigger. A member that is left out matches all changes. */
export interface StateTriggerConfig extends CommonConfig {
  readonly scope?: string | undefined;
  readonly key?: string | undefined;
  /** Only keys with this prefix. */
  readonly prefix?: string | undefined;
  /** Default: all three kinds. */
  readonly eventTypes?: readonly StateEventType[] | undefined;
  /** Maximum number of calls of the function for one event. */
  readonly maxAttempts?: number | undefined;
  /** @deprecated Use `eventTypes`. */
  readonly event_types?: readonly StateEventType[] | undefined;
  /** @deprecated Use `maxAttempts`. */
  readonly max_attempts?: number | undefined;
}

type ChangeKind = "created" | "updated" | "deleted";
type StateEventType = ChangeKind | `state:${ChangeKind}`;
type StateKindTriggerConfig = Omit<StateTriggerConfig, "eventTypes" | "event_types">;

/** Filter of a `stream:join` or `stream:leave` trigger. */
export interface StreamJoinTriggerConfig extends CommonConfig {
  /** Default: all streams. */
  readonly streamName?: string | undefined;
  /** Default: all groups. */
  readonly groupId?: string | undefined;
  /** @deprecated Use `streamName`. */
  readonly stream_name?: string | undefined;
}

type StreamName =
  | { readonly streamName: string; readonly stream_name?: undefined }
  /** @deprecated Use `streamName`. */
  | { readonly stream_name: string; readonly streamName?: undefined };

/** Filter of a `stream` trigger. */
export type StreamTriggerConfig = StreamName &
  CommonConfig & {
    /** Default: all groups. */
    readonly groupId?: string | undefined;
    /** Default: all items. */
    readonly itemId?: string | undefined;
    /** @deprecated Use `groupId`. */
    readonly group_id?: string | undefined;
    /** @deprecated Use `itemId`. */
    readonly item_id?: string | undefined;
  };

/** Schedule of a `cron` trigger. */
export interface CronTriggerConfig extends CommonConfig {
  /**
   * Five fields (minute first), six fields (second first), seven fields (year last), or a shorthand such as `@daily`.
   */
  readonly expression: string;
  /** IANA name, e.g. `Europe/Berlin`. Default `UTC`. */
  readonly timezone?: string | undefined;
  /** What happens to a tick while the previous run is in progress. Default `skip`. */
  readonly overlap?: "skip" | "allow" | "queue_one" | undefined;
  /** What happens to ticks that could not start in time. Default `skip`. */
  readonly misfire?: "skip" | "once" | "all" | undefined;
  /** If set, ticks become jobs of this queue instead of calls. */
  readonly queue?: string | undefined;
  /**
   * Each run is delayed by a random time of up to this number of milliseconds, so that many triggers do not start at
   * the same time. Default 0.
   */
  readonly jitterMs?: number | undefined;
  /** Start of the schedule, RFC 3339. `endAt` is its end. */
  readonly startAt?: string | undefined;
  readonly endAt?: string | undefined;
  /** @deprecated Use `jitterMs`. */
  readonly jitter_ms?: number | undefined;
  /** @deprecated Use `startAt`. */
  readonly start_at?: string | undefined;
  /** @deprecated Use `endAt`. */
  readonly end_at?: string | undefined;
}

/** Subscription of a `subscribe` trigger. */
export interface SubscribeTriggerConfig extends CommonConfig {
  /**
   * A topic, or a pattern: `*` matches one segment, `**` any number of segments. Segments are separated by `.`, `:` and
   * `/`.
   */
  readonly topic: string;
}

/** Subscription of an `event` trigger. The topic has one of three member names. */
export type EventTriggerConfig =
  | SubscribeTriggerConfig
  | (CommonConfig & { readonly event: string })
  | (CommonConfig & { readonly eventName: string })
  /** @deprecated Use `eventName`. */
  | (CommonConfig & { readonly event_name: string });

/** Config of a `queue` trigger. The trigger gets the jobs of this queue that have no function. */
export interface QueueTriggerConfig extends CommonConfig {
  readonly queue: string;
}

interface SubscriptionQueueConfig {
  readonly type?: "standard" | "fifo" | undefined;
  readonly maxRetries?: number | undefined;
  readonly concurrency?: number | undefined;
  /** Timeout of the function per message, in seconds. Default 900. */
  readonly visibilityTimeout?: number | undefined;
  readonly delaySeconds?: number | undefined;
  readonly backoffType?: "exponential" | "linear" | "fixed" | undefined;
  readonly backoffDelayMs?: number | undefined;
}

/** Subscription of a `durable:subscriber` trigger. While its worker is disconnected, messages wait. */
export interface DurableSubscriberTriggerConfig extends CommonConfig {
  readonly topic: string;
  readonly queueConfig?: SubscriptionQueueConfig | undefined;
  /** @deprecated Use `queueConfig`. */
  readonly queue_config?: SubscriptionQueueConfig | undefined;
}

/** Types of configs by trigger type. A project may declare further ones, as for `Functions`. */
export interface TriggerConfigs {
  http: HttpTriggerConfig;
  state: StateTriggerConfig;
  "state:created": StateKindTriggerConfig;
  "state:updated": StateKindTriggerConfig;
  "state:deleted": StateKindTriggerConfig;
  stream: StreamTriggerConfig;
  "stream:join": StreamJoinTriggerConfig;
  "stream:leave": StreamJoinTriggerConfig;
  cron: CronTriggerConfig;
  event: EventTriggerConfig;
  subscribe: SubscribeTriggerConfig;
  queue: QueueTriggerConfig;
  "durable:subscriber": DurableSubscriberTriggerConfig;
}

/** Config type of the trigger type in `TriggerConfigs`; `unknown` if it is not declared there. */
export type ConfigOf<Type> = Type extends keyof TriggerConfigs ? TriggerConfigs[Type] : unknown;
