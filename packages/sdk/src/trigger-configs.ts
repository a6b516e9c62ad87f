/** A function that runs before or after the handler of a route. */
export interface HttpMiddleware {
  readonly function_id: string;
  /** Default `preHandler`. */
  readonly phase?: "preHandler" | "postHandler" | undefined;
  /** Lower ones run first. Default 0. */
  readonly priority?: number | undefined;
  /** Whether it gets the request's body. Default false. */
  readonly with_body?: boolean | undefined;
}

/** What pages of other origins may do with a route. */
export interface HttpCors {
  readonly allowed_origins: readonly string[];
  readonly allowed_methods?: readonly string[] | undefined;
  readonly allowed_headers?: readonly string[] | undefined;
  readonly exposed_headers?: readonly string[] | undefined;
  readonly credentials?: boolean | undefined;
  /** Seconds. */
  readonly max_age?: number | undefined;
}

/** Config of an `http` trigger; what is left out is as the block of `svc-http` says. */
export interface HttpTriggerConfig {
  /** `:name` takes one segment, `*name` at the end takes the rest. */
  readonly api_path: string;
  /** DELETE, GET, HEAD, OPTIONS, PATCH, POST or PUT, in any case. Default GET. */
  readonly http_method?: string | undefined;
  /** Function that is asked first; when it answers false the request is answered 422. */
  readonly condition_function_id?: string | undefined;
  readonly middleware_function_ids?: readonly (string | HttpMiddleware)[] | undefined;
  /** How long the function may take, in milliseconds. */
  readonly timeout_ms?: number | undefined;
  /** `stream`: the body is not read but handed on as it comes, in `request_body`. Default `auto`. */
  readonly body?: "auto" | "stream" | undefined;
  /** False: the function gets no channels for body and response, which makes requests a little cheaper. Default true. */
  readonly streaming?: boolean | undefined;
  /** Largest body that is read whole, in bytes. */
  readonly body_limit_bytes?: number | undefined;
  /** Largest multipart form, in bytes. */
  readonly form_limit_bytes?: number | undefined;
  /** Requests of this route in work at once. */
  readonly concurrency_limit?: number | undefined;
  /** Requests that may wait in line meanwhile. Default 0. */
  readonly queue_limit?: number | undefined;
  /** How many requests one client may make in so many milliseconds. */
  readonly rate_limit?: { readonly requests: number; readonly per_ms: number } | undefined;
  readonly cors?: HttpCors | false | undefined;
  readonly compression?: boolean | undefined;
}

/** Which changes a `state` trigger is for; what is left out means all. */
export interface StateTriggerConfig {
  readonly scope?: string | undefined;
  readonly key?: string | undefined;
  /** Only keys that begin with it. */
  readonly prefix?: string | undefined;
  /** Default: all three kinds. */
  readonly event_types?: readonly StateEventType[] | undefined;
  /** Function that is asked first, with the event; when it answers false the function is not called. */
  readonly condition_function_id?: string | undefined;
  /** Calls of the function for one event before it is given up. */
  readonly max_attempts?: number | undefined;
}

type ChangeKind = "created" | "updated" | "deleted";
type StateEventType = ChangeKind | `state:${ChangeKind}`;
type StateKindTriggerConfig = Omit<StateTriggerConfig, "event_types">;

/** Whose joins and leaves a `stream:join` or `stream:leave` trigger is for. */
export interface StreamJoinTriggerConfig {
  /** Default: all streams. */
  readonly stream_name?: string | undefined;
  readonly condition_function_id?: string | undefined;
}

/** Which events a `stream` trigger is for. */
export interface StreamTriggerConfig {
  readonly stream_name: string;
  /** Default: all groups. */
  readonly group_id?: string | undefined;
  /** Default: all items. */
  readonly item_id?: string | undefined;
  readonly condition_function_id?: string | undefined;
}

/** When a `cron` trigger runs. */
export interface CronTriggerConfig {
  /** Five fields (minute first), six (second first) or seven (and a year), or a shorthand like `@daily`. */
  readonly expression: string;
  /** IANA name, e.g. `Europe/Berlin`. Default `UTC`. */
  readonly timezone?: string | undefined;
  /** What becomes of a tick while the run before goes on. Default `skip`. */
  readonly overlap?: "skip" | "allow" | "queue_one" | undefined;
  /** What becomes of ticks that could not start in time. Default `skip`. */
  readonly misfire?: "skip" | "once" | "all" | undefined;
  /** Ticks become jobs of this queue in place of calls. */
  readonly queue?: string | undefined;
  /** Starts each run up to so many milliseconds later, so that many triggers do not start at once. Default 0. */
  readonly jitter_ms?: number | undefined;
  /** RFC 3339. */
  readonly start_at?: string | undefined;
  readonly end_at?: string | undefined;
  readonly condition_function_id?: string | undefined;
}

/** What a `subscribe` trigger listens to. */
export interface SubscribeTriggerConfig {
  /** A topic, or a pattern: `*` stands for one segment, `**` for any number of them; segments are divided by `.`, `:` and `/`. */
  readonly topic: string;
  /** Function that is asked first, with the event's data; when it answers false nothing is called. */
  readonly condition_function_id?: string | undefined;
}

/** What an `event` trigger listens to: a topic under one of its three names. */
export type EventTriggerConfig =
  | SubscribeTriggerConfig
  | (Omit<SubscribeTriggerConfig, "topic"> & { readonly event: string })
  | (Omit<SubscribeTriggerConfig, "topic"> & { readonly event_name: string });

/** The jobs that a `queue` trigger runs: those of a queue that name no function. */
export interface QueueTriggerConfig {
  readonly queue: string;
  /** Function that is asked first, with the job's data; when it answers false the job is done without having run. */
  readonly condition_function_id?: string | undefined;
}

/** What a `durable:subscriber` trigger listens to; messages wait for it while its worker is away. */
export interface DurableSubscriberTriggerConfig {
  readonly topic: string;
  /** Function that is asked first, with the data; when it answers false the message is done without having been handled. */
  readonly condition_function_id?: string | undefined;
  readonly queue_config?:
    | {
        readonly type?: "standard" | "fifo" | undefined;
        readonly maxRetries?: number | undefined;
        readonly concurrency?: number | undefined;
        /** Seconds that the function may take for one message. Default 15 min */
        readonly visibilityTimeout?: number | undefined;
        readonly delaySeconds?: number | undefined;
        readonly backoffType?: "exponential" | "linear" | "fixed" | undefined;
        readonly backoffDelayMs?: number | undefined;
      }
    | undefined;
}

/** The configs of trigger types that `registerTrigger` knows; a project may declare more, as for `Functions`. */
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

/** The config of a type in `TriggerConfigs`, else `unknown`. */
export type ConfigOf<Type> = Type extends keyof TriggerConfigs ? TriggerConfigs[Type] : unknown;
