import type { WorkerState, WorkerStatus } from "@svc-runtime/protocol/listings";
import { z } from "zod";
import type { Directory, WorkerView } from "../../kernel/directory.ts";
import type { UsageMeter } from "./process-usage.ts";
import type { Unit } from "./unit.ts";
import type { Connections } from "./worker-connections.ts";

export type { WorkerStatus } from "@svc-runtime/protocol/listings";

export const DEFAULT_TAIL = 20;

const stateSchema = z.enum([
  "installing",
  "starting",
  "ready",
  "replacing",
  "stopping",
  "stopped",
  "backing_off",
  "crash_looping",
  "failed",
]) satisfies z.ZodType<WorkerState>;

const replicaSchema = z.object({
  index: z.int().meta({ description: "From 1" }),
  state: stateSchema,
  pid: z.int().nullable().meta({ description: "Pid of its first process. Null if none runs" }),
  ready_at: z.string().nullable(),
});

const lastExitSchema = z.object({
  code: z.int().nullable().meta({ description: "Exit code. Null if a signal ended it, or it never started" }),
  signal: z.string().nullable(),
  at: z.string().meta({ description: "ISO time" }),
  lines: z.array(z.string()).meta({ description: "Its last output lines" }),
});

export const workerStatusSchema = z.object({
  name: z.string(),
  node: z.string().optional().meta({
    description:
      "Engine of the cluster that runs it, in lists. Absent for modules, for remote workers, and without a cluster",
  }),
  kind: z.enum(["local", "command", "module", "remote"]).meta({
    description:
      "`local`: a worker that the engine runs; `command`: a command of `svc-exec`; `module`: part of the engine; `remote`: connected by itself",
  }),
  state: stateSchema,
  reason: z.string().nullable().meta({ description: "Why it is in this state, if there is something to explain" }),
  problem: z
    .string()
    .nullable()
    .meta({ description: "Why its last change or install is not used, while its previous processes keep running" }),
  pids: z
    .array(z.int())
    .meta({ description: "Process ids of the worker and its descendants. Empty if the engine did not start it" }),
  replicas: z.array(replicaSchema).meta({
    description: "Its processes; during a replacement two with the same index. For a remote worker its connections",
  }),
  restarts: z.int().meta({
    description: "Number of restarts after crashes. Restarts because of changed files or commands do not count",
  }),
  last_exit: lastExitSchema.nullable().meta({ description: "Its last crash" }),
  next_start_at: z
    .string()
    .nullable()
    .meta({ description: "ISO time of the next start, while it is backing off or crash looping" }),
  ready_at: z.string().nullable().meta({ description: "ISO time when it became ready" }),
  waits_for: z.array(z.string()).meta({ description: "Names in `depends_on` that it waits for" }),
  memory_bytes: z.int().nullable().meta({ description: "Memory of all its processes" }),
  cpu_percent: z.number().nullable().meta({
    description:
      "CPU use of all its processes in percent of one core, since the previous status call or since they started",
  }),
  log_file: z.string().nullable().meta({ description: "Absolute path of the file with its output" }),
  functions: z.array(z.string()).meta({ description: "Ids of the functions that its ready processes provide" }),
  trigger_types: z.array(z.string()).meta({ description: "Ids of the trigger types that its ready processes provide" }),
  tail: z
    .array(z.string())
    .meta({ description: `The last lines of its output: ${DEFAULT_TAIL} unless the call asks for more` }),
}) satisfies z.ZodType<WorkerStatus>;
/** The status of a module, as the module host of the engine reports it. */
export interface ModuleStatus {
  readonly name: string;
  readonly state: "running" | "failed" | "starting";
  readonly reason?: string | undefined;
}

/** Returns the part of a unit's status that needs no information from the operating system. */
export function unitSummary(
  unit: Unit,
): Pick<
  WorkerStatus,
  | "name"
  | "kind"
  | "state"
  | "reason"
  | "problem"
  | "restarts"
  | "last_exit"
  | "next_start_at"
  | "ready_at"
  | "waits_for"
> {
  const { state, reason } = unit.status;
  const { lastExit } = unit;
  return {
    name: unit.entry.name,
    kind: unit.kind,
    state,
    reason: reason ?? null,
    problem: unit.problem ?? null,
    restarts: unit.restarts,
    last_exit:
      lastExit === undefined
        ? null
        : {
            code: lastExit.end.code,
            signal: lastExit.end.signal,
            at: isoOf(lastExit.atMs),
            lines: [...lastExit.lines],
          },
    next_start_at: isoOrNull(unit.nextStartAtMs),
    ready_at: isoOrNull(unit.readyAtMs),
    waits_for: [...unit.waitsFor],
  };
}

export async function statusOfUnit(
  unit: Unit,
  {
    connections,
    usage,
    tail,
  }: { readonly connections: Connections; readonly usage: UsageMeter; readonly tail: number },
): Promise<WorkerStatus> {
  const pidsOf = new Map(
    await Promise.all(unit.processes.map(async (process) => [process, await process.pids()] as const)),
  );
  const pids = [...pidsOf.values()].flat();
  const { memoryBytes, cpuPercent } = await usage.measure(unit.entry.name, pids);
  const { functions, triggerTypes } = connections.provided(unit.readyConnections);
  return {
    ...unitSummary(unit),
    pids,
    replicas: unit.replicas.map(({ index, process }) => ({
      index: index + 1,
      state: process.status.state,
      pid: pidsOf.get(process)?.[0] ?? null,
      ready_at: isoOrNull(process.readyAtMs),
    })),
    memory_bytes: memoryBytes,
    cpu_percent: cpuPercent,
    log_file: unit.output.file,
    functions,
    trigger_types: triggerTypes,
    tail: unit.output.tail(tail),
  };
}

type OfProcesses =
  | "problem"
  | "pids"
  | "restarts"
  | "last_exit"
  | "next_start_at"
  | "waits_for"
  | "memory_bytes"
  | "cpu_percent"
  | "log_file"
  | "tail";

/** Returns the status members for modules and remote workers, for which the engine runs no process. */
function noProcess(): Pick<WorkerStatus, OfProcesses> {
  return {
    problem: null,
    pids: [],
    restarts: 0,
    last_exit: null,
    next_start_at: null,
    waits_for: [],
    memory_bytes: null,
    cpu_percent: null,
    log_file: null,
    tail: [],
  };
}

export function statusOfModule(module: ModuleStatus, directory: Directory): WorkerStatus {
  const view = directory.workers().find((worker) => worker.name === module.name && worker.status === "available");
  return {
    ...noProcess(),
    name: module.name,
    kind: "module",
    state: module.state === "running" ? "ready" : module.state,
    reason: module.reason ?? null,
    replicas: [],
    ready_at: module.state === "running" && view !== undefined ? isoOf(view.connected_at_ms) : null,
    functions: [...(view?.functions ?? [])].sort(),
    trigger_types: directory
      .triggerTypes()
      .filter(({ workers }) => workers.some(({ id }) => id === view?.id))
      .map(({ id }) => id),
  };
}

/** Returns the status of connected workers outside the config file, one per name. */
export function statusesOfRemote(directory: Directory): WorkerStatus[] {
  const byName = new Map<string, WorkerView[]>();
  for (const view of directory.workers()) {
    if (!isRemote(view)) continue;
    const others = byName.get(view.name);
    if (others === undefined) byName.set(view.name, [view]);
    else others.push(view);
  }
  return [...byName].map(([name, views]) => ({
    ...noProcess(),
    name,
    kind: "remote" as const,
    state: "ready" as const,
    reason: null,
    replicas: views.map((view, index) => ({
      index: index + 1,
      state: "ready" as const,
      pid: view.pid,
      ready_at: isoOf(view.connected_at_ms),
    })),
    ready_at: isoOf(Math.min(...views.map(({ connected_at_ms }) => connected_at_ms))),
    functions: [...new Set(views.flatMap(({ functions }) => functions))].sort(),
    trigger_types: [...new Set(views.flatMap(({ trigger_types }) => trigger_types))].sort(),
  }));
}

export function isRemote(view: WorkerView): boolean {
  return !view.internal && view.kind === "worker" && view.configured_worker === null;
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

function isoOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : isoOf(ms);
}
