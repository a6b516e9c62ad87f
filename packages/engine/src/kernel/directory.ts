import type { FunctionId } from "@svc-runtime/protocol";
import type { FunctionListing, TriggerListing, WorkerListing } from "@svc-runtime/protocol/listings";

export type FunctionStatus = FunctionListing["status"];
export type TriggerStatus = TriggerListing["status"];

/** A function as listings show it. */
export interface FunctionView extends FunctionListing {
  readonly function_id: FunctionId;
}

/** A connected worker or a module of the engine. */
export type WorkerView = WorkerListing;

/** Returns whether the worker is a published client: a connection that declared no optional feature of our protocol. */
export function isPublishedClient({ kind, features }: Pick<WorkerView, "kind" | "features">): boolean {
  return kind !== "module" && features.length === 0;
}

/** The few fields of a worker that `eachWorker` passes on. They are read for all workers every few seconds. */
export interface WorkerLoad
  extends Pick<
    WorkerView,
    "id" | "name" | "internal" | "status" | "active_invocations" | "pid" | "ip_address" | "configured_worker"
  > {
  /** At least one call was delivered to it. */
  readonly has_run: boolean;
}

/** A trigger binding. */
export interface TriggerView extends TriggerListing {
  readonly function_id: FunctionId;
}

export interface TriggerTypeView {
  readonly id: string;
  readonly description: string;
  /** The worker that serves the trigger type. */
  readonly worker_name: string;
  /** All workers that provide the trigger type: the first one serves it, the others are standbys in this order. */
  readonly workers: readonly { readonly id: string; readonly name: string }[];
  readonly trigger_request_format: unknown;
  readonly call_request_format: unknown;
  /** True if the engine validates the config of bindings against `trigger_request_format`. */
  readonly validated: boolean;
  /** Why `trigger_request_format` cannot be enforced although enforcement was requested. */
  readonly format_problem: string | null;
  readonly instance_count: number;
  /** True for `engine::*`. */
  readonly internal: boolean;
}

/** Counts for the dashboard, without internal objects. */
export interface Counters {
  /** Functions of connected workers, without those of the engine's modules. */
  readonly functions: number;
  readonly triggers: number;
  readonly workers: number;
  /** User-defined streams with items or subscribers. A stream that loses its last item is subtracted a little later. */
  readonly streams: number;
}

export interface DirectoryChange {
  /**
   * `stream`: a user-defined stream that got its first item or subscriber, or lost its last one. `registrations`: a
   * worker registered something; `id` is the id of the worker.
   */
  readonly kind: "worker" | "registrations" | "function" | "trigger" | "stream";
  readonly id: string;
  /** `removed`: the id is no longer listed. */
  readonly op: "created" | "updated" | "removed";
}

/** A read-only view of the running system. Views are created at each call and do not change. */
export interface Directory {
  functions(): readonly FunctionView[];
  functionById(id: string): FunctionView | undefined;
  /**
   * Returns whether a worker or module of this node provides the function. Workers of other nodes and leaving workers
   * do not count.
   */
  isProvidedHere(id: string): boolean;
  workers(): readonly WorkerView[];
  /**
   * Calls `visit` for each worker. It makes no list, because the views of ten thousand workers would stay in the heap
   * too long. `visit` must not change anything.
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
