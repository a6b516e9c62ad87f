import type { FunctionId } from "@svc/protocol";

export type FunctionStatus = "available" | "busy" | "draining";
export type TriggerStatus = "active" | "inactive" | "error";

/** A function as listings show it. */
export interface FunctionView {
  readonly function_id: FunctionId;
  readonly description: string | null;
  readonly request_format: unknown;
  readonly response_format: unknown;
  readonly metadata: unknown;
  /** The engine checks payloads by `request_format` before it delivers calls. */
  readonly validated: boolean;
  /** Why `request_format` cannot be enforced although enforcement was requested. */
  readonly format_problem: string | null;
  /** Its workers registered it with different formats; those of the first one are shown. Absent if they agree. */
  readonly formats_differ?: true;
  readonly status: FunctionStatus;
  /** True for `engine::*` and functions whose metadata says `internal: true`. */
  readonly internal: boolean;
  /** Name of the first worker that provides the function. */
  readonly worker_name: string;
  readonly workers: readonly { readonly id: string; readonly name: string }[];
  readonly triggers: readonly { readonly id: string; readonly type: string }[];
}

/** A connected worker or a module of the engine. */
export interface WorkerView {
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
  /** Trigger types that it provides, including those that another worker serves before it. */
  readonly trigger_types: readonly string[];
  /** Number of triggers that it registered. */
  readonly trigger_count: number;
  readonly active_invocations: number;
  /** The principal of a restricted connection, e.g. `role reader`. Null: an unrestricted connection, or a module. */
  readonly principal: string | null;
  /** The config entry for which the engine started this process; null if there is none. */
  readonly configured_worker: string | null;
}

/** The fields that are read for every worker every few seconds. */
export interface WorkerLoad
  extends Pick<
    WorkerView,
    "id" | "name" | "internal" | "status" | "active_invocations" | "pid" | "ip_address" | "configured_worker"
  > {
  /** At least one call was delivered to it. */
  readonly has_run: boolean;
}

/** A trigger binding. */
export interface TriggerView {
  readonly id: string;
  readonly trigger_type: string;
  readonly function_id: FunctionId;
  readonly config: unknown;
  readonly metadata: unknown;
  readonly worker_name: string;
  /** The restricted principal that registered it. Null: a trusted worker or the engine. */
  readonly made_by: { readonly principal: string; readonly role: string | null } | null;
  readonly status: TriggerStatus;
  /** Why the status is inactive or error. For an active trigger: that its provider has not confirmed it. */
  readonly reason: string | null;
  readonly internal: boolean;
}

export interface TriggerTypeView {
  readonly id: string;
  readonly description: string;
  /** The worker that serves it. */
  readonly worker_name: string;
  /** All workers that provide it: the first one serves, the others are standbys in this order. */
  readonly workers: readonly { readonly id: string; readonly name: string }[];
  readonly trigger_request_format: unknown;
  readonly call_request_format: unknown;
  /** The engine checks the config of bindings by `trigger_request_format`. */
  readonly validated: boolean;
  /** Why `trigger_request_format` cannot be enforced although enforcement was requested. */
  readonly format_problem: string | null;
  readonly instance_count: number;
  /** True for `engine::*`. */
  readonly internal: boolean;
}

/** Counts for the dashboard, without internal objects. */
export interface Counters {
  readonly functions: number;
  readonly triggers: number;
  readonly workers: number;
  /** User-defined streams with items or subscribers. Deletions are counted a little later. */
  readonly streams: number;
}

export interface DirectoryChange {
  /** `stream`: a user-defined stream that got its first item or subscriber, or lost its last. */
  readonly kind: "worker" | "function" | "trigger" | "stream";
  readonly id: string;
  /** `removed`: the id is no longer listed. */
  readonly op: "created" | "updated" | "removed";
}

/** A read-only view of the running system. Views are created at each call and do not change. */
export interface Directory {
  functions(): readonly FunctionView[];
  functionById(id: string): FunctionView | undefined;
  workers(): readonly WorkerView[];
  /**
   * Visits workers one at a time: ten thousand views at once would stay in the heap too long. `visit` must not change
   * anything.
   */
  eachWorker(visit: (worker: WorkerLoad) => void): void;
  workerById(id: string): WorkerView | undefined;
  triggers(): readonly TriggerView[];
  triggerById(id: string): TriggerView | undefined;
  triggerTypes(): readonly TriggerTypeView[];
  counters(): Counters;
  /** Calls the listener synchronously after each change. Errors of a listener are logged. */
  onChange(listener: (change: DirectoryChange) => void): () => void;
  /** Calls the listener synchronously each time a connection has registered a function, a trigger type or a trigger. */
  onRegistration(listener: (workerId: string) => void): () => void;
}
