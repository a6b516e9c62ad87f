import type { FunctionId } from "@svc/protocol";

export type FunctionStatus = "available" | "busy" | "draining";
export type TriggerStatus = "active" | "inactive" | "error";

/** One function as listings show it. */
export interface FunctionView {
  readonly function_id: FunctionId;
  readonly description: string | null;
  readonly request_format: unknown;
  readonly response_format: unknown;
  readonly metadata: unknown;
  /** The engine checks payloads by `request_format` before it hands calls on. */
  readonly validated: boolean;
  /** Why `request_format` cannot be enforced although that was asked for. */
  readonly format_problem: string | null;
  /** Its workers registered it with different formats; those shown are the first one's. Absent where they agree. */
  readonly formats_differ?: true;
  readonly status: FunctionStatus;
  /** True for `engine::*` and functions whose metadata says `internal: true`. */
  readonly internal: boolean;
  /** Name of the first worker that provides it. */
  readonly worker_name: string;
  readonly workers: readonly { readonly id: string; readonly name: string }[];
  readonly triggers: readonly { readonly id: string; readonly type: string }[];
}

/** One connected worker, or one module of the engine. */
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
  /** What the connection declared that it understands; a published client declares nothing. */
  readonly features: readonly string[];
  /** What the connection says it is; a module is one of the engine's own. */
  readonly kind: "worker" | "cli" | "console" | "module";
  /** True for modules, the console and one-shot CLI calls: not counted as active worker processes. */
  readonly internal: boolean;
  /** `connected`, or `available` for a module. */
  readonly status: "connected" | "available";
  readonly connected_at_ms: number;
  readonly function_count: number;
  readonly functions: readonly string[];
  /** The trigger types that it provides, also those that another serves before it. */
  readonly trigger_types: readonly string[];
  /** How many triggers it asked for. */
  readonly trigger_count: number;
  readonly active_invocations: number;
  /** Where access is restricted: whose connection it is, e.g. `role reader`. Null: an unrestricted one, or a module. */
  readonly principal: string | null;
  /** The config entry that the engine started this process for, when it did. */
  readonly configured_worker: string | null;
}

/** What is asked of every worker each few seconds. */
export interface WorkerLoad
  extends Pick<WorkerView, "id" | "name" | "internal" | "status" | "active_invocations" | "pid" | "ip_address" | "configured_worker"> {
  /** It has been handed a call at least once. */
  readonly has_run: boolean;
}

/** One trigger binding. */
export interface TriggerView {
  readonly id: string;
  readonly trigger_type: string;
  readonly function_id: FunctionId;
  readonly config: unknown;
  readonly metadata: unknown;
  readonly worker_name: string;
  /** Where access is restricted: who asks for it. Null: a trusted worker, or the engine. */
  readonly made_by: { readonly principal: string; readonly role: string | null } | null;
  readonly status: TriggerStatus;
  /** Why the status is inactive or error; of an active one, that its provider has not confirmed it. */
  readonly reason: string | null;
  readonly internal: boolean;
}

export interface TriggerTypeView {
  readonly id: string;
  readonly description: string;
  /** Who serves it. */
  readonly worker_name: string;
  /** All who provide it: the first one serves, the others stand by in this order. */
  readonly workers: readonly { readonly id: string; readonly name: string }[];
  readonly trigger_request_format: unknown;
  readonly call_request_format: unknown;
  /** The engine checks the config of bindings by `trigger_request_format`. */
  readonly validated: boolean;
  /** Why `trigger_request_format` cannot be enforced although that was asked for. */
  readonly format_problem: string | null;
  readonly instance_count: number;
  /** True for `engine::*`. */
  readonly internal: boolean;
}

/** What the dashboard counts; system things are left out. */
export interface Counters {
  readonly functions: number;
  readonly triggers: number;
  readonly workers: number;
  /** User-defined ones with items or subscribers; deletions are counted a little later. */
  readonly streams: number;
}

export interface DirectoryChange {
  /** `stream`: a user-defined one, which has got its first item or subscriber, or lost the last. */
  readonly kind: "worker" | "function" | "trigger" | "stream";
  readonly id: string;
  /** `removed` means that the id is gone from the listing. */
  readonly op: "created" | "updated" | "removed";
}

/** Read-only view of the running system. Views are made on each call and never change afterwards. */
export interface Directory {
  functions(): readonly FunctionView[];
  functionById(id: string): FunctionView | undefined;
  workers(): readonly WorkerView[];
  /** One at a time: ten thousand views at once would outlive their use in the heap. `visit` changes nothing. */
  eachWorker(visit: (worker: WorkerLoad) => void): void;
  workerById(id: string): WorkerView | undefined;
  triggers(): readonly TriggerView[];
  triggerById(id: string): TriggerView | undefined;
  triggerTypes(): readonly TriggerTypeView[];
  counters(): Counters;
  /** Tells of each change, synchronously, after it took effect. A listener that throws is logged. */
  onChange(listener: (change: DirectoryChange) => void): () => void;
  /** Tells, synchronously, each time that a connection has registered a function, a trigger type or a trigger. */
  onRegistration(listener: (workerId: string) => void): () => void;
}
