/** A function that runs before or after the handler of a route. */
export interface HttpMiddleware {
  readonly function_id: string;
  /** Default `preHandler`. */
  readonly phase?: "preHandler" | "postHandler" | undefined;
  /** Lower values run first. Default 0. */
  readonly priority?: number | undefined;
  /** Whether it receives the request's body. Default false. */
  readonly with_body?: boolean | undefined;
}

/** Access of pages of other origins to a route. */
export interface HttpCors {
  readonly allowed_origins: readonly string[];
  readonly allowed_methods?: readonly string[] | undefined;
  readonly allowed_headers?: readonly string[] | undefined;
  readonly exposed_headers?: readonly string[] | undefined;
  readonly credentials?: boolean | undefined;
  /** Seconds. */
  readonly max_age?: number | undefined;
}

/** Config of an `http` trigger. Omitted members default to the config block of `svc-http`. */
export interface HttpTriggerConfig {
  /** `:name` matches one segment, `*name` at the end matches the rest. */
  readonly api_path: string;
  /** DELETE, GET, HEAD, OPTIONS, PATCH, POST or PUT, case-insensitive. Default GET. */
  readonly http_method?: string | undefined;
  /** Function that is called first. If it returns false, the response is 422. */
  readonly condition_function_id?: string | undefined;
  readonly middleware_function_ids?: readonly (string | HttpMiddleware)[] | undefined;
  /** Timeout of the function, in milliseconds. */
  readonly timeout_ms?: number | undefined;
  /** `stream`: the body is not parsed but passed on in `request_body` as it arrives. Default `auto`. */
  readonly body?: "auto" | "stream" | undefined;
  /**
   * False: the function receives no channels for body and response, which makes requests slightly cheaper. Default
   * true.
   */
  readonly streaming?: boolean | undefined;
  /** Maximum size of a body that is read whole, in bytes. */
  readonly body_limit_bytes?: number | undefined;
  /** Maximum size of a multipart form, in bytes. */
  readonly form_limit_bytes?: number | undefined;
  /** Maximum number of concurrent requests of this route. */
  readonly concurrency_limit?: number | undefined;
  /** Maximum number of requests that wait meanwhile. Default 0. */
  readonly queue_limit?: number | undefined;
  /** Maximum number of requests of one client per interval of `per_ms` milliseconds. */
  readonly rate_limit?: { readonly requests: number; readonly per_ms: number } | undefined;
  readonly cors?: HttpCors | false | undefined;
  readonly compression?: boolean | undefined;
}

/** Filter of a `state` trigger. Omitted members match all changes. */
export interface StateTriggerConfig {
  readonly scope?: string | undefined;
  readonly key?: string | undefined;
  /** Only keys with this prefix. */
  readonly prefix?: string | undefined;
  /** Default: all three kinds. */
  readonly event_types?: readonly StateEventType[] | undefined;
  /** Function that is called first, with the event. If it returns false, the trigger's function is not called. */
  readonly condition_function_id?: string | undefined;
  /** Maximum number of calls of the function for one event. */
  readonly max_attempts?: number | undefined;
}

type ChangeKind = "created" | "updated" | "deleted";
type StateEventType = ChangeKind | `state:${ChangeKind}`;
type StateKindTriggerConfig = Omit<StateTriggerConfig, "event_types">;

/** Filter of a `stream:join` or `stream:leave` trigger. */
export interface StreamJoinTriggerConfig {
  /** Default: all streams. */
  readonly stream_name?: string | undefined;
  readonly condition_function_id?: string | undefined;
}

/** Filter of a `stream` trigger. */
export interface StreamTriggerConfig {
  readonly stream_name: string;
  /** Default: all groups. */
  readonly group_id?: string | undefined;
  /** Default: all items. */
  readonly item_id?: string | undefined;
  readonly condition_function_id?: string | undefined;
}

/** Schedule of a `cron` trigger. */
export interface CronTriggerConfig {
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
  /** Ticks become jobs of this queue instead of calls. */
  readonly queue?: string | undefined;
  /**
   * Delays each run by up to this many milliseconds, so that many triggers do not start at the same time. Default 0.
   */
  readonly jitter_ms?: number | undefined;
  /** RFC 3339. */
  readonly start_at?: string | undefined;
  readonly end_at?: string | undefined;
  readonly condition_function_id?: string | undefined;
}

/** Subscription of a `subscribe` trigger. */
export interface SubscribeTriggerConfig {
  /**
   * A topic, or a pattern: `*` matches one segment, `**` any number of segments. Segments are separated by `.`, `:` and
   * `/`.
   */
  readonly topic: string;
  /**
   * Function that is called first, with the event's data. If it returns false, the trigger's function is not called.
   */
  readonly condition_function_id?: string | undefined;
}

/** Subscription of an `event` trigger: a topic under one of three names. */
export type EventTriggerConfig =
  | SubscribeTriggerConfig
  | (Omit<SubscribeTriggerConfig, "topic"> & { readonly event: string })
  | (Omit<SubscribeTriggerConfig, "topic"> & { readonly event_name: string });

/** Selects the jobs of a `queue` trigger: the queue's jobs without a function. */
export interface QueueTriggerConfig {
  readonly queue: string;
  /** Function that is called first, with the job's data. If it returns false, the job completes without running. */
  readonly condition_function_id?: string | undefined;
}

/** Subscription of a `durable:subscriber` trigger. Messages wait for it while its worker is disconnected. */
export interface DurableSubscriberTriggerConfig {
  readonly topic: string;
  /** Function that is called first, with the data. If it returns false, the message completes unhandled. */
  readonly condition_function_id?: string | undefined;
  readonly queue_config?:
    | {
        readonly type?: "standard" | "fifo" | undefined;
        readonly maxRetries?: number | undefined;
        readonly concurrency?: number | undefined;
        /** Timeout of the function per message, in seconds. Default 900. */
        readonly visibilityTimeout?: number | undefined;
        readonly delaySeconds?: number | undefined;
        readonly backoffType?: "exponential" | "linear" | "fixed" | undefined;
        readonly backoffDelayMs?: number | undefined;
      }
    | undefined;
}

/** Config types by trigger type. A project may declare more, as for `Functions`. */
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

/** Config type of a trigger type in `TriggerConfigs`, else `unknown`. */
export type ConfigOf<Type> = Type extends keyof TriggerConfigs ? TriggerConfigs[Type] : unknown;
