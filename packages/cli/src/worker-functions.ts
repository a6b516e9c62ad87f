import type { Worker } from "@svc/sdk";
import { findBuiltIn } from "./built-in-workers.ts";

/** The engine answers by its own deadline; ours only guards against an engine that stopped answering. */
const ANSWER_MARGIN_MS = 10_000;
const STEER_TIMEOUT_MS = 60_000;

/** Whatever the functions of an engine can be called through. */
export type EngineCalls = Pick<Worker, "call">;

export type WorkerState = "installing" | "starting" | "ready" | "replacing" | "stopping" | "stopped" | "backing_off" | "crash_looping" | "failed";

/** One process of a worker, or one connection of a remote one. */
export interface ReplicaReport {
  /** From 1. */
  readonly index: number;
  readonly state: WorkerState;
  readonly pid: number | null;
  /** ISO 8601. */
  readonly ready_at: string | null;
}

/** One worker, as the engine's `worker::*` functions report it. */
export interface WorkerReport {
  readonly name: string;
  /** `local` is a process that the engine runs, `command` one of svc-exec, `module` is part of the engine, `remote` has connected by itself. */
  readonly kind: "local" | "command" | "module" | "remote";
  readonly state: WorkerState;
  /** Why the state is what it is, where that is not plain. */
  readonly reason: string | null;
  /** Why its last change or install is not used, while its processes from before run on. */
  readonly problem: string | null;
  readonly pids: readonly number[];
  /** While a process replaces another one, both have the same index. */
  readonly replicas: readonly ReplicaReport[];
  /** How often it was started again after it ended unasked. */
  readonly restarts: number;
  readonly last_exit: { readonly code: number | null; readonly signal: string | null; readonly at: string; readonly lines: readonly string[] } | null;
  /** ISO 8601. */
  readonly next_start_at: string | null;
  readonly ready_at: string | null;
  /** Workers that have to be ready before it is started. */
  readonly waits_for: readonly string[];
  readonly memory_bytes: number | null;
  /** Of one core. */
  readonly cpu_percent: number | null;
  readonly functions: readonly string[];
  readonly trigger_types: readonly string[];
  /** The last lines of its output. */
  readonly tail: readonly string[];
  readonly log_file: string | null;
}

/** How a worker is run, as `worker::inspect` tells it. */
export interface WorkerInspection {
  readonly name: string;
  readonly [member: string]: unknown;
}

/** The name of a module may be shortened, as `svc worker add` takes it. */
export function fullName(name: string): string {
  return findBuiltIn(name)?.name ?? name;
}

export async function listWorkers(engine: EngineCalls, options: { readonly includeRemote?: boolean } = {}): Promise<readonly WorkerReport[]> {
  const payload = { include_remote: options.includeRemote ?? false };
  const { workers } = await engine.call<{ readonly workers: readonly WorkerReport[] }>({ function_id: "worker::list", payload });
  return workers;
}

export async function workerStatus(
  engine: EngineCalls,
  name: string,
  { tail, timeoutMs }: { readonly tail: number; readonly timeoutMs?: number },
): Promise<WorkerReport> {
  return engine.call<WorkerReport>({
    function_id: "worker::status",
    payload: { name, tail },
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
  });
}

export async function inspectWorker(engine: EngineCalls, name: string): Promise<WorkerInspection> {
  return engine.call<WorkerInspection>({ function_id: "worker::inspect", payload: { name } });
}

export interface AwaitedState {
  readonly name: string;
  /** `settled`: it is ready or cannot become so; `first crash`: also when it ends for the first time; `stopped`: none of its processes is left. */
  readonly until: "first crash" | "settled" | "stopped";
  readonly timeoutMs: number;
  /** Calls the question off. */
  readonly signal: AbortSignal;
}

/** Asks the engine to answer when the worker is so, or when the time is up. */
export async function awaitWorker(engine: EngineCalls, { name, until, timeoutMs, signal }: AwaitedState): Promise<WorkerReport> {
  return engine.call<WorkerReport>({
    function_id: "worker::wait",
    payload: { name, timeout_ms: timeoutMs, on_crash: until === "first crash", until: until === "stopped" ? "stopped" : "settled" },
    timeout_ms: timeoutMs + ANSWER_MARGIN_MS,
    signal,
  });
}

export type Steering = "start" | "stop" | "restart" | "update";

/** Answers at once, with how the worker is then. */
export async function steerWorker(engine: EngineCalls, steering: Steering, name: string): Promise<WorkerReport> {
  return engine.call<WorkerReport>({ function_id: `worker::${steering}`, payload: { name }, timeout_ms: STEER_TIMEOUT_MS });
}
