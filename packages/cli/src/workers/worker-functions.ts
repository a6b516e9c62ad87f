import type { WorkerStatus as WorkerReport } from "@svc-runtime/protocol/listings";
import type { Worker } from "@svc-runtime/sdk";
import { findBuiltIn } from "./built-in-workers.ts";

/** Time that is added to the engine's own time limit, in milliseconds, in case that the engine stops responding. */
const ANSWER_MARGIN_MS = 10_000;
const CONTROL_TIMEOUT_MS = 60_000;

/** The part of the SDK's worker that calls functions of the engine. */
export type EngineCalls = Pick<Worker, "call">;

export type { WorkerState, WorkerStatus as WorkerReport } from "@svc-runtime/protocol/listings";

/** Result of `worker::inspect`. */
export interface WorkerInspection {
  readonly name: string;
  readonly [member: string]: unknown;
}

/**
 * Returns the full name of a module, because users may shorten it as in `svc worker add`. Other names are returned
 * unchanged.
 */
export function fullName(name: string): string {
  return findBuiltIn(name)?.name ?? name;
}

export async function listWorkers(
  engine: EngineCalls,
  { includeRemote = false, signal }: { readonly includeRemote?: boolean; readonly signal?: AbortSignal } = {},
): Promise<readonly WorkerReport[]> {
  const payload = { include_remote: includeRemote };
  const { workers } = await engine.call<{ readonly workers: readonly WorkerReport[] }>({
    function_id: "worker::list",
    payload,
    ...(signal && { signal }),
  });
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
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
}

export async function inspectWorker(engine: EngineCalls, name: string): Promise<WorkerInspection> {
  return engine.call<WorkerInspection>({ function_id: "worker::inspect", payload: { name } });
}

export interface AwaitedState {
  readonly name: string;
  /**
   * `settled`: the worker is ready or cannot become ready. `first crash`: as `settled`, or the worker has crashed.
   * `stopped`: no process is left.
   */
  readonly until: "first crash" | "settled" | "stopped";
  readonly timeoutMs: number;
  /** Aborting it cancels the call. */
  readonly signal: AbortSignal;
}

/** Waits until the worker has reached the state, or until the timeout. Returns the worker's report. */
export async function awaitWorker(
  engine: EngineCalls,
  { name, until, timeoutMs, signal }: AwaitedState,
): Promise<WorkerReport> {
  return engine.call<WorkerReport>({
    function_id: "worker::wait",
    payload: {
      name,
      timeout_ms: timeoutMs,
      on_crash: until === "first crash",
      until: until === "stopped" ? "stopped" : "settled",
    },
    timeoutMs: timeoutMs + ANSWER_MARGIN_MS,
    signal,
  });
}

export type WorkerAction = "start" | "stop" | "restart" | "update";

/** Sends the command and returns the worker's report without waiting. */
export async function controlWorker(engine: EngineCalls, action: WorkerAction, name: string): Promise<WorkerReport> {
  return engine.call<WorkerReport>({
    function_id: `worker::${action}`,
    payload: { name },
    timeoutMs: CONTROL_TIMEOUT_MS,
  });
}
