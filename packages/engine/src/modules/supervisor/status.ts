import { z } from "zod";
import type { Directory } from "../../kernel/directory.ts";
import type { Connections } from "./connections.ts";
import type { LocalWorker } from "./local-worker.ts";
import type { WorkerState } from "./worker-state.ts";

const TAIL_LINES = 20;

const stateSchema = z.enum([
  "installing",
  "starting",
  "ready",
  "stopping",
  "stopped",
  "backing_off",
  "crash_looping",
  "failed",
]) satisfies z.ZodType<WorkerState>;

export const workerStatusSchema = z.object({
  name: z.string(),
  kind: z.enum(["local", "module"]).meta({ description: "`local` is a process that the engine runs, `module` is part of the engine" }),
  state: stateSchema,
  reason: z.string().nullable().meta({ description: "Why the state is what it is, where that is not plain" }),
  pids: z.array(z.int()).meta({ description: "Process ids of the worker and its descendants; empty for a module" }),
  restarts: z.int().meta({ description: "How often it was started again after it ended unasked" }),
  ready_at: z.string().nullable().meta({ description: "ISO time since when it is ready" }),
  log_file: z.string().nullable().meta({ description: "Absolute path of the file with its output" }),
  functions: z.array(z.string()).meta({ description: "Ids of the functions that it provides; none of a process that is not ready" }),
  trigger_types: z.array(z.string()).meta({ description: "Ids of the trigger types that it provides, likewise" }),
  tail: z.array(z.string()).meta({ description: `The last lines of its output, at most ${TAIL_LINES}` }),
});
/** What `worker::*` functions tell about one worker. */
export type WorkerStatus = z.output<typeof workerStatusSchema>;

/** How one module of the engine is, as its host tells. */
export interface ModuleStanding {
  readonly name: string;
  readonly state: "running" | "failed" | "starting";
  readonly reason?: string | undefined;
}

export async function statusOfLocal(worker: LocalWorker, connections: Connections): Promise<WorkerStatus> {
  const pids = await worker.pids();
  const { state, reason } = worker.standing;
  const { functions, triggerTypes } = connections.provided(worker.readyConnections);
  return {
    name: worker.entry.name,
    kind: "local",
    state,
    reason: reason ?? null,
    pids: [...pids],
    restarts: worker.restarts,
    ready_at: worker.readyAtMs === undefined ? null : new Date(worker.readyAtMs).toISOString(),
    log_file: worker.output.file,
    functions,
    trigger_types: triggerTypes,
    tail: worker.output.tail(TAIL_LINES),
  };
}

export function statusOfModule(module: ModuleStanding, directory: Directory): WorkerStatus {
  const view = directory.workers().find((worker) => worker.name === module.name && worker.status === "available");
  return {
    name: module.name,
    kind: "module",
    state: module.state === "running" ? "ready" : module.state,
    reason: module.reason ?? null,
    pids: [],
    restarts: 0,
    ready_at: module.state === "running" && view !== undefined ? new Date(view.connected_at_ms).toISOString() : null,
    log_file: null,
    functions: [...(view?.functions ?? [])].sort(),
    trigger_types: directory
      .triggerTypes()
      .filter(({ workers }) => workers.some(({ id }) => id === view?.id))
      .map(({ id }) => id),
    tail: [],
  };
}
