import { setTimeout as pause } from "node:timers/promises";
import { isRunning } from "../engine/announced-engine.ts";
import { CommandFailure } from "../exit-codes.ts";
import { type ListedEntry, listedEntries } from "../project/config-entries.ts";
import type { Project } from "../project/project.ts";
import type { Shell } from "../shell.ts";
import { showProgress } from "../terminal/progress.ts";
import { editing } from "./add-worker.ts";
import { findBuiltIn } from "./built-in-workers.ts";
import { type EngineCalls, listWorkers, type WorkerReport } from "./worker-functions.ts";

/**
 * Timeout of a removal, in milliseconds. The engine must first read the config file, and kills the worker after 10 s.
 */
const REMOVAL_TIMEOUT_MS = 30_000;
const POLL_INTERVAL_MS = 100;

/** Result of removing a worker, as printed by `--json`. */
export interface Removed {
  readonly name: string;
  readonly kind: "local" | "built-in";
  readonly config_file: string;
  /** Ids of the removed functions and trigger types. Empty if no engine ran. */
  readonly functions: readonly string[];
  readonly trigger_types: readonly string[];
}

/**
 * Returns the entry for a name on the command line. The name of a module may be shortened. If there is no such entry,
 * throws an error with the nearest name.
 */
export async function entryNamed(name: string, { configFile, shownConfig }: Project): Promise<ListedEntry> {
  const entries = listedEntries(configFile);
  const entry = entries.get(name) ?? entries.get(findBuiltIn(name)?.name ?? name);
  if (entry?.kind === "command") {
    throw new CommandFailure(`${entry.name} is a command of svc-exec, not a worker.`, {
      advice: [`Remove it from commands: in ${shownConfig}.`],
    });
  }
  if (entry !== undefined) return entry;
  const { nearestName } = await import("@svc-runtime/engine/local-workers");
  const known = [...entries.values()].flatMap((listed) => (listed.kind === "command" ? [] : [listed.name]));
  const nearest = nearestName(name, known);
  throw new CommandFailure(
    `There is no worker ${name} in ${shownConfig}${nearest === undefined ? "." : `; did you mean ${nearest}?`}`,
    {
      advice: [known.length === 0 ? "It lists none." : `It lists: ${known.join(", ")}`],
    },
  );
}

/**
 * Sorts names so that dependents come before their dependencies. The order is needed because the config file is invalid
 * if a worker depends on a removed one.
 */
export function dependentsFirst(entries: ReadonlyMap<string, ListedEntry>): readonly string[] {
  const left = new Map(entries);
  const order: string[] = [];
  while (left.size > 0) {
    const needed = new Set([...left.values()].flatMap(({ dependsOn }) => dependsOn));
    const free = [...left].filter(([, { name }]) => !needed.has(name)).map(([name]) => name);
    // The rest is a dependency cycle. The engine rejects it in any order.
    const next = free.length > 0 ? free : [...left.keys()];
    for (const name of next) left.delete(name);
    order.push(...next);
  }
  return order;
}

/** Removes the worker from the config file and waits until the engine has stopped it. Its files stay. */
export async function removeWorker(
  shell: Shell,
  entry: ListedEntry,
  {
    project,
    engine,
    signal,
  }: { readonly project: Project; readonly engine: EngineCalls | undefined; readonly signal: AbortSignal },
): Promise<Removed> {
  const { removeWorkerFromConfig } = await import("@svc-runtime/engine");
  const before = engine === undefined ? undefined : (await listWorkers(engine)).find(({ name }) => name === entry.name);
  await editing(shell, (check) => removeWorkerFromConfig(project.configFile, entry.name, { check }));
  shell.note(`Worker ${entry.name} removed from ${project.shownConfig}\n`);
  if (engine !== undefined && before !== undefined) await waitForRemoval(shell, engine, { before, project, signal });
  if (entry.folder !== undefined) shell.note(`Its files stay in ${entry.folder}\n`);
  return {
    name: entry.name,
    kind: entry.folder === undefined ? "built-in" : "local",
    config_file: project.configFile,
    functions: before?.functions ?? [],
    trigger_types: before?.trigger_types ?? [],
  };
}

interface RemovalWait {
  readonly before: WorkerReport;
  readonly project: Project;
  readonly signal: AbortSignal;
}

/**
 * Waits until the engine no longer lists the worker and its processes have exited. The processes can be checked here,
 * because they run on the machine of the config file.
 */
async function waitForRemoval(
  shell: Shell,
  engine: EngineCalls,
  { before, project, signal }: RemovalWait,
): Promise<void> {
  const { name, pids } = before;
  const progress = showProgress(shell, `Waiting until ${name} has stopped`);
  const until = performance.now() + REMOVAL_TIMEOUT_MS;
  try {
    while ((await listWorkers(engine)).some((worker) => worker.name === name) || pids.some(isRunning)) {
      if (signal.aborted)
        throw new CommandFailure(
          `Stopped waiting; ${name} was removed from ${project.shownConfig}, and the engine is stopping it.`,
        );
      if (performance.now() > until) throw stillRunning(before, project);
      await pause(POLL_INTERVAL_MS);
    }
  } finally {
    progress.end();
  }
}

function stillRunning({ name }: WorkerReport, { shownConfig }: Project): CommandFailure {
  return new CommandFailure(
    `Worker ${name} was removed from ${shownConfig}, but it is still running after ${REMOVAL_TIMEOUT_MS / 1000} s.`,
    {
      advice: [`The engine may have rejected the file; check its log for a problem in ${shownConfig}.`],
    },
  );
}
