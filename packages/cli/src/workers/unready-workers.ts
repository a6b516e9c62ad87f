import type { Worker } from "@svc-runtime/sdk";
import { listWorkers, type WorkerReport, type WorkerState } from "./worker-functions.ts";

/** Maximum number of workers that are listed below a message. */
const MAX_NAMED = 3;

/** Subcommand that helps with a worker in this state. Undefined if the user can only wait. */
const REMEDY: Readonly<Record<Exclude<WorkerState, "ready">, "start" | "status" | undefined>> = {
  installing: undefined,
  starting: undefined,
  replacing: undefined,
  stopping: undefined,
  stopped: "start",
  backing_off: "status",
  crash_looping: "status",
  failed: "status",
};

/**
 * Returns a line of advice for each worker that is not ready, because its functions may be missing. If the workers
 * cannot be listed, returns no lines, because this is only a hint.
 */
export async function unreadyWorkers(engine: Worker): Promise<readonly string[]> {
  const workers = await listWorkers(engine).catch((): readonly WorkerReport[] => []);
  const lines = workers.flatMap(({ name, kind, state }) => {
    if (kind === "module" || state === "ready") return [];
    const remedy = REMEDY[state];
    return [
      `${name} is ${stateText(state)}${remedy === undefined ? "; try again in a moment" : `: svc worker ${remedy} ${name}`}`,
    ];
  });
  const more = lines.length - MAX_NAMED;
  return more <= 0
    ? lines
    : [
        ...lines.slice(0, MAX_NAMED),
        `${more} more ${more === 1 ? "worker is" : "workers are"} not ready: svc worker list`,
      ];
}

function stateText(state: Exclude<WorkerState, "ready">): string {
  if (state === "failed") return "not running";
  if (state === "replacing") return "being replaced by a new process";
  if (state === "backing_off") return "backing off after a crash";
  return state.replaceAll("_", "-");
}
