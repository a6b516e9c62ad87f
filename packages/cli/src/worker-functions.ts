import type { Worker } from "@svc/sdk";
import { CommandFailure } from "./exit-codes.ts";

/** How long the engine gives a worker to become ready (decision 29). */
const READY_TIMEOUT_MS = 120_000;
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
  /** The last lines of its output. */
  readonly tail: readonly string[];
  readonly log_file: string | null;
}

export async function listWorkers(engine: Worker): Promise<readonly WorkerReport[]> {
  const { workers } = await engine.call<{ readonly workers: readonly WorkerReport[] }>({ function_id: "worker::list", payload: {} });
  return workers;
}

/** Waits until the worker is ready. Exit 1 with its last output lines when it cannot become so, or not in time. */
export async function waitForWorker(engine: Worker, name: string): Promise<WorkerReport> {
  const report = await engine.call<WorkerReport>({
    function_id: "worker::wait",
    payload: { name, timeout_ms: READY_TIMEOUT_MS },
    timeout_ms: READY_TIMEOUT_MS + ANSWER_MARGIN_MS,
  });
  if (report.state === "ready") return report;
  const why = report.reason ?? (report.state === "starting" ? `it registered no function within ${READY_TIMEOUT_MS / 1000} s` : "");
  throw new CommandFailure(`Worker ${name} is not ready; it is ${report.state.replace("_", " ")}${why === "" ? "" : `: ${why}`}.`, {
    advice: [
      ...(report.tail.length === 0 ? [] : ["Its last output:", ...report.tail.map((line) => `  | ${line}`)]),
      ...(report.log_file === null ? [] : [`All of its output: ${report.log_file}`]),
      `It stays in the config file. It is started again when its files change, or with: svc worker restart ${name}`,
    ],
  });
}

export async function restartWorker(engine: Worker, name: string): Promise<void> {
  await engine.call({ function_id: "worker::restart", payload: { name }, timeout_ms: RESTART_TIMEOUT_MS });
}
