import type { Worker } from "@svc/sdk";

/** The engine answers by its own deadline; ours only guards against an engine that stopped answering. */
const ANSWER_MARGIN_MS = 10_000;
const RESTART_TIMEOUT_MS = 60_000;

/** One worker of the config file, as the engine's `worker::*` functions report it. */
export interface WorkerReport {
  readonly name: string;
  /** `local` is a process that the engine runs, `module` is part of the engine. */
  readonly kind: "local" | "module";
  readonly state: "installing" | "starting" | "ready" | "stopping" | "stopped" | "backing_off" | "crash_looping" | "failed";
  /** Why the state is what it is, where that is not plain. */
  readonly reason: string | null;
  readonly pids: readonly number[];
  readonly functions: readonly string[];
  readonly trigger_types: readonly string[];
  /** The last lines of its output. */
  readonly tail: readonly string[];
  readonly log_file: string | null;
}

export async function listWorkers(engine: Worker): Promise<readonly WorkerReport[]> {
  const { workers } = await engine.call<{ readonly workers: readonly WorkerReport[] }>({ function_id: "worker::list", payload: {} });
  return workers;
}

/** Asks the engine to answer when the worker is ready or cannot become so; `first crash`: also when it ends for the first time. */
export async function awaitWorker(
  engine: Worker,
  { name, until, timeoutMs }: { readonly name: string; readonly until: "first crash" | "settled"; readonly timeoutMs: number },
): Promise<WorkerReport> {
  return engine.call<WorkerReport>({
    function_id: "worker::wait",
    payload: { name, timeout_ms: timeoutMs, on_crash: until === "first crash" },
    timeout_ms: timeoutMs + ANSWER_MARGIN_MS,
  });
}

export async function restartWorker(engine: Worker, name: string): Promise<void> {
  await engine.call({ function_id: "worker::restart", payload: { name }, timeout_ms: RESTART_TIMEOUT_MS });
}
