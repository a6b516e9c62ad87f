// Entries of listings, as the engine's functions return them and its streams send them. Types only, so that the
// console's page can use them.

/** A function. */
export interface FunctionListing {
  readonly function_id: string;
  readonly description: string | null;
  readonly request_format: unknown;
  readonly response_format: unknown;
  readonly metadata: unknown;
  /** The engine checks payloads by `request_format` before it delivers calls. */
  readonly validated: boolean;
  /** Why `request_format` cannot be enforced although enforcement was requested. */
  readonly format_problem: string | null;
  /** True if its workers registered different formats. The formats of the first worker are shown. Otherwise absent. */
  readonly formats_differ?: true;
  readonly status: "available" | "busy" | "draining";
  /** True for `engine::*` and functions whose metadata says `internal: true`. */
  readonly internal: boolean;
  /** Name of the first worker that provides the function. */
  readonly worker_name: string;
  readonly workers: readonly FunctionProvider[];
  readonly triggers: readonly { readonly id: string; readonly type: string }[];
}

/** A worker or module that provides a function. */
export interface FunctionProvider {
  readonly id: string;
  readonly name: string;
  /** Engine of the cluster that it is connected to. Absent without a cluster. */
  readonly node?: string;
}

/** A connected worker or a module of the engine. */
export interface WorkerListing {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly runtime: string;
  readonly version: string | null;
  readonly os: string | null;
  readonly ip_address: string | null;
  readonly pid: number | null;
  readonly isolation: string | null;
  /** Features that the connection declared; published clients declare none. */
  readonly features: readonly string[];
  /** The kind that the connection declared; `module` for the engine's modules. */
  readonly kind: "worker" | "cli" | "console" | "module";
  /** True for modules, the console and one-shot CLI calls: not counted as active worker processes. */
  readonly internal: boolean;
  /** `connected`, or `available` for a module. */
  readonly status: "connected" | "available";
  readonly connected_at_ms: number;
  readonly function_count: number;
  readonly functions: readonly string[];
  /** Trigger types that it provides, including types whose triggers currently go to another worker. */
  readonly trigger_types: readonly string[];
  /** Number of triggers that it registered. */
  readonly trigger_count: number;
  readonly active_invocations: number;
  /** The principal of a restricted connection, e.g. `role reader`. Null: an unrestricted connection, or a module. */
  readonly principal: string | null;
  /** Name of the config entry that the engine started this process for. Null: the engine did not start it. */
  readonly configured_worker: string | null;
  /** Engine of the cluster that it is connected to. Absent without a cluster. */
  readonly node?: string;
}

/** An engine of a cluster, as the engine that was asked sees it. Without a cluster, an engine lists only itself. */
export interface NodeListing {
  readonly name: string;
  /** Id of the engine's current run. Each start of the process is a new run. */
  readonly run: string;
  /** True for the engine that was asked. */
  readonly self: boolean;
  /**
   * `draining`: its workers are moving to other engines, or it is stopping. `drained`: it has no workers any more.
   * `silent`: it is still in the cluster, but did not respond in time.
   */
  readonly state: "up" | "draining" | "drained" | "silent" | "gone";
  /** Why the engine is silent or gone. */
  readonly reason: string | null;
  /** Time at which it became `gone`. */
  readonly gone_at_ms: number | null;
  /** The engine's own report. Null: it did not respond. */
  readonly report: NodeReport | null;
}

export interface NodeReport {
  readonly version: string;
  readonly pid: number;
  readonly addresses: { readonly bridge: string; readonly http: string; readonly realtime: string };
  readonly started_at_ms: number;
  /** Workers that are connected to it. */
  readonly workers: number;
  readonly calls_in_flight: number;
  /** How far its clock is, at least, ahead of the clock of the engine that was asked. Negative: it is behind. */
  readonly clock_offset_ms: number;
  /** Whether writes survive a power cut of all NATS servers, as far as this engine knows. Null without a cluster. */
  readonly durability: "durable" | "relaxed" | null;
  readonly durability_reason: string | null;
  /** The engine's copies of the shared data. */
  readonly stores: readonly NodeStore[];
}

export interface NodeStore {
  /** E.g. `queue`. */
  readonly store: string;
  /** Number of entries of the log that this engine has applied. */
  readonly position: number;
  /** Number of entries that another engine has applied and this engine has not. */
  readonly behind: number;
  /** Why nothing can be written or applied at present. */
  readonly problem: string | null;
}

/** State of a worker that the engine runs, or of one of its processes. */
export type WorkerState =
  | "installing"
  | "starting"
  | "ready"
  | "replacing"
  | "stopping"
  | "stopped"
  | "backing_off"
  | "crash_looping"
  | "failed";

/** A worker or module of the config file, or a connected worker, as the functions `worker::*` return it. */
export interface WorkerStatus {
  readonly name: string;
  /** Engine of the cluster that runs it, in lists. Absent for modules, for remote workers, and without a cluster. */
  readonly node?: string | undefined;
  /**
   * `local`: a process that the engine runs. `command`: a command of svc-exec. `module`: part of the engine. `remote`:
   * connected on its own.
   */
  readonly kind: "local" | "command" | "module" | "remote";
  readonly state: WorkerState;
  /** Reason for the state, if it is not obvious. */
  readonly reason: string | null;
  /** Why its last change or install failed while its previous processes keep running. */
  readonly problem: string | null;
  /** Processes of the worker and their descendants. Empty if the engine did not start it. */
  readonly pids: readonly number[];
  /** Processes, or connections of a remote worker. While a process replaces another one, both have the same index. */
  readonly replicas: readonly {
    /** From 1. */
    readonly index: number;
    readonly state: WorkerState;
    readonly pid: number | null;
    /** ISO 8601. */
    readonly ready_at: string | null;
  }[];
  /** Number of restarts after unexpected exits. */
  readonly restarts: number;
  readonly last_exit: {
    readonly code: number | null;
    readonly signal: string | null;
    readonly at: string;
    readonly lines: readonly string[];
  } | null;
  /** ISO 8601. */
  readonly next_start_at: string | null;
  readonly ready_at: string | null;
  /** Workers that must be ready before it starts. */
  readonly waits_for: readonly string[];
  readonly memory_bytes: number | null;
  /** Percentage of one core. */
  readonly cpu_percent: number | null;
  readonly log_file: string | null;
  readonly functions: readonly string[];
  readonly trigger_types: readonly string[];
  /** Last lines of output. */
  readonly tail: readonly string[];
}

/** The restricted principal that created a job or trigger, e.g. `role guest`. Null: a trusted worker or the engine. */
export type MadeBy = { readonly principal: string; readonly role: string | null } | null;

/** A trigger binding. */
export interface TriggerListing {
  readonly id: string;
  readonly trigger_type: string;
  readonly function_id: string;
  readonly config: unknown;
  readonly metadata: unknown;
  readonly worker_name: string;
  readonly made_by: MadeBy;
  readonly status: "active" | "inactive" | "error";
  /** Why the status is inactive or error. For an active trigger, set only if its provider has not confirmed it. */
  readonly reason: string | null;
  readonly internal: boolean;
}

export type JobState = "waiting" | "delayed" | "active" | "dead";
/** State of a job in listings. `done`: it succeeded and is kept. */
export type ListedJobState = JobState | "done";

/** How far a running attempt is, as its handler reported. */
export interface JobProgress {
  /** 0 to 1. */
  readonly value: number;
  readonly note: string | null;
  readonly at: string;
}

/** One failed attempt. */
export interface JobFailure {
  /** Starts at 1. If the job was not run, the number of earlier attempts. */
  readonly attempt: number;
  readonly at: string;
  readonly code: string;
  readonly message: string;
  readonly stack: string | null;
  /** Name and id of the worker that ran it. */
  readonly worker: string | null;
  readonly trace_id: string | null;
}

interface CommonJob {
  readonly job_id: string;
  readonly queue: string;
  readonly function_id: string | null;
  /** Number of failed attempts. */
  readonly attempts: number;
  readonly max_attempts: number;
  readonly priority: number;
  readonly created_at: string;
  readonly group: string | null;
  readonly dedupe_key: string | null;
  /** Absent on older engines. */
  readonly made_by?: MadeBy;
  readonly trace_id: string | null;
  /** Size of its data, in bytes. */
  readonly bytes: number;
  /** The last 20 failures, oldest first. The last one is the reason of a dead letter. */
  readonly failures: readonly JobFailure[];
}

/** A job on a queue. Times are RFC 3339. */
export interface QueueJob<Data = unknown> extends CommonJob {
  readonly state: JobState;
  readonly data: Data;
  /** Earliest start of a delayed job. */
  readonly run_at: string | null;
  readonly expires_at: string | null;
  /** Time at which a dead job failed for the last time. */
  readonly failed_at: string | null;
  /**
   * Why no worker can run the job now, e.g. nobody provides its function. Null if a worker can. Absent on older
   * engines.
   */
  readonly reason?: string | null;
  /** Last report of the running attempt. Absent on older engines. */
  readonly progress?: JobProgress | null;
}

/** A job that succeeded. A queue keeps its latest done jobs (config key `keep_completed`). Times are RFC 3339. */
export interface DoneJob<Result = unknown> extends CommonJob {
  readonly state: "done";
  /** Null if the result was not kept. */
  readonly result: Result;
  /** False if the result was larger than 64 KiB. */
  readonly result_kept: boolean;
  readonly ended_at: string;
  /** Duration of the last attempt. */
  readonly duration_ms: number;
  /** The job is deleted at this time, or earlier if newer done jobs take its place. */
  readonly kept_until: string;
}

/** A job that has ended and was deleted. Its state is known only while its dedupe key is remembered. */
export interface EndedJob {
  readonly job_id: string;
  readonly queue: string;
  readonly state: "done" | "cancelled" | "expired";
}

/** Contents of a queue, and counts of its jobs since it was first used. */
export interface QueueCounts {
  readonly queue: string;
  /** Jobs that are ready or wait for another job of their group. */
  readonly waiting: number;
  readonly delayed: number;
  readonly active: number;
  readonly dead: number;
  /** Size of the data of all its jobs. */
  readonly bytes: number;
  readonly paused: boolean;
  /** This and the following counts start when the queue is first used. */
  readonly added: number;
  readonly done: number;
  readonly died: number;
  readonly expired: number;
  readonly cancelled: number;
  /** Done jobs that are kept. */
  readonly kept: number;
}

export interface QueueStats extends QueueCounts {
  /** Null if the queue has jobs but is not declared. */
  readonly type: "standard" | "fifo" | null;
  readonly concurrency: number | null;
  /** Topic, if it is the queue of a subscription. */
  readonly topic: string | null;
  /** Why no worker can run some of the oldest waiting jobs. Absent on older engines. */
  readonly waiting_reasons?: readonly string[];
}

/** Figures of the calls of one function, or of all functions, in a period. From `engine::metrics::functions`. */
export interface CallFigures {
  readonly calls: number;
  readonly errors: number;
  readonly error_rate: number;
  readonly rate_per_second: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  readonly p99_ms: number | null;
}

/** An invocation, as `engine::invocations::list` returns it. */
export interface InvocationListing {
  readonly invocation_id: string;
  readonly function_id: string;
  /** Null if no worker got the call. */
  readonly worker: { readonly id: string; readonly name: string } | null;
  readonly caller: { readonly worker_id: string; readonly name: string } | null;
  /** Origin of the call: `call`, `http`, `queue`, `cli`, … */
  readonly source: string;
  readonly status: "ok" | "error" | "pending" | "cancelled" | "timeout";
  readonly started_at_ms: number;
  readonly duration_ms: number | null;
  readonly input_bytes: number;
  readonly output_bytes: number;
  readonly trace_id: string;
  readonly span_id: string;
  readonly job?: { readonly queue: string; readonly id: string; readonly attempt: number };
  readonly error?: { readonly code: string; readonly message: string };
}

/** A message of a stream connection, as the stream `svc.stream.messages` reports it. */
export interface TappedMessage {
  readonly direction: "inbound" | "outbound";
  /** When the message passed, in milliseconds. Messages of one batch have different times. */
  readonly timestamp: number;
  readonly connection_id: string;
  /** The stream that the message is about; null if there is none. */
  readonly stream: string | null;
  readonly group: string | null;
  /** `join`, `heartbeat`, …; for stream messages the kind of event, e.g. `update`. */
  readonly type: string;
  /** Size of the whole message, even if `payload` is truncated. */
  readonly bytes: number;
  readonly payload: string;
  readonly truncated: boolean;
}

/** Totals of all messages in this run of the engine while a client watched them, including dropped messages. */
export interface TapTotals {
  readonly inbound: number;
  readonly outbound: number;
  /** Size of the whole messages. */
  readonly inbound_bytes: number;
  readonly outbound_bytes: number;
  /** Messages that were dropped from their batch. Absent on older engines. */
  readonly dropped?: number;
}
