import type { Worker } from "@svc/sdk";
import { listWorkers, type WorkerReport, type WorkerState } from "./worker-functions.ts";

/** More of them would bury the message that they stand below. */
const MAX_NAMED = 3;

/** What to type about a worker that is so; undefined where waiting is all there is to do. */
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
 * Why a function may be missing though its worker is listed: a line for each worker of the config file that is not ready, with what to do.
 * For a hint only: where the listing fails, there is none.
 */
export async function unreadyWorkers(engine: Worker): Promise<readonly string[]> {
  const workers = await listWorkers(engine).catch((): readonly WorkerReport[] => []);
  const lines = workers.flatMap(({ name, kind, state }) => {
    if (kind === "module" || state === "ready") return [];
    const remedy = REMEDY[state];
    return [`${name} is ${inWords(state)}${remedy === undefined ? "; try again in a moment" : `: svc worker ${remedy} ${name}`}`];
  });
  const more = lines.length - MAX_NAMED;
  return more <= 0 ? lines : [...lines.slice(0, MAX_NAMED), `${more} more ${more === 1 ? "worker is" : "workers are"} not ready: svc worker list`];
}

function inWords(state: Exclude<WorkerState, "ready">): string {
  if (state === "failed") return "not running";
  if (state === "replacing") return "being replaced by a new process";
  if (state === "backing_off") return "backing off after a crash";
  return state.replaceAll("_", "-");
}
