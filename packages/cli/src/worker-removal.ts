import { setTimeout as pause } from "node:timers/promises";
import type { Worker } from "@svc/sdk";
import { findBuiltIn } from "./built-in-workers.ts";
import { type ListedEntry, listedEntries } from "./config-entries.ts";
import { CommandFailure } from "./exit-codes.ts";
import { showProgress } from "./progress.ts";
import type { Project } from "./project.ts";
import type { Shell } from "./shell.ts";
import { editing } from "./worker-adding.ts";
import { listWorkers, type WorkerReport } from "./worker-functions.ts";

/** A worker gets 10 s to end before it is killed; the engine may have a config file to read first. */
const GONE_TIMEOUT_MS = 30_000;
const LOOK_EVERY_MS = 100;

/** What was removed, as `--json` prints it. */
export interface Removed {
  readonly name: string;
  readonly kind: "local" | "built-in";
  readonly config_file: string;
  /** Ids of functions and trigger types that went with it; empty when no engine ran. */
  readonly functions: readonly string[];
  readonly trigger_types: readonly string[];
}

/** The entry that a name on the command line means: modules go by any of their names. Fails with the nearest name that the file has. */
export async function entryNamed(name: string, { configFile, shownConfig }: Project): Promise<ListedEntry> {
  const entries = listedEntries(configFile);
  const entry = entries.get(name) ?? entries.get(findBuiltIn(name)?.name ?? name);
  if (entry?.kind === "command") {
    throw new CommandFailure(`${entry.name} is a command of svc-exec and no worker of its own.`, {
      advice: [`Take it out of the commands: in ${shownConfig}.`],
    });
  }
  if (entry !== undefined) return entry;
  const { nearestName } = await import("@svc/engine/local-workers");
  const known = [...entries.values()].flatMap((listed) => (listed.kind === "command" ? [] : [listed.name]));
  const meant = nearestName(name, known);
  throw new CommandFailure(`There is no worker ${name} in ${shownConfig}${meant === undefined ? "." : `; did you mean ${meant}?`}`, {
    advice: [known.length === 0 ? "It lists none." : `It lists: ${known.join(", ")}`],
  });
}

/** The same names, those first that depend on others of them: a file in which a worker waits for one that is gone is refused. */
export function dependentsFirst(entries: ReadonlyMap<string, ListedEntry>): readonly string[] {
  const left = new Map(entries);
  const order: string[] = [];
  while (left.size > 0) {
    const needed = new Set([...left.values()].flatMap(({ dependsOn }) => dependsOn));
    const free = [...left].filter(([, { name }]) => !needed.has(name)).map(([name]) => name);
    // They wait for each other in a circle, which the engine refuses in any order.
    const next = free.length > 0 ? free : [...left.keys()];
    for (const name of next) left.delete(name);
    order.push(...next);
  }
  return order;
}

/** Takes the worker out of the config file and waits until the running engine has let go of it. Its files stay. */
export async function removeWorker(
  shell: Shell,
  entry: ListedEntry,
  { project, engine, signal }: { readonly project: Project; readonly engine: Worker | undefined; readonly signal: AbortSignal },
): Promise<Removed> {
  const { removeWorkerFromConfig } = await import("@svc/engine");
  const before = engine === undefined ? undefined : (await listWorkers(engine)).find(({ name }) => name === entry.name);
  await editing(shell, (check) => removeWorkerFromConfig(project.configFile, entry.name, { check }));
  shell.note(`Worker ${entry.name} removed from ${project.shownConfig}\n`);
  if (engine !== undefined && before !== undefined) await untilGone(shell, engine, { before, project, signal });
  if (entry.folder !== undefined) shell.note(`Its files stay in ${entry.folder}\n`);
  return {
    name: entry.name,
    kind: entry.folder === undefined ? "built-in" : "local",
    config_file: project.configFile,
    functions: before?.functions ?? [],
    trigger_types: before?.trigger_types ?? [],
  };
}

interface Leaving {
  readonly before: WorkerReport;
  readonly project: Project;
  readonly signal: AbortSignal;
}

/** The engine no longer lists it, and none of its processes is left: those run on the machine that the config file is on, which is this one. */
async function untilGone(shell: Shell, engine: Worker, { before, project, signal }: Leaving): Promise<void> {
  const { name, pids } = before;
  const progress = showProgress(shell, `Waiting until ${name} has ended`);
  const until = performance.now() + GONE_TIMEOUT_MS;
  try {
    while ((await listWorkers(engine)).some((worker) => worker.name === name) || pids.some(isRunning)) {
      if (signal.aborted) throw new CommandFailure(`Stopped waiting; ${name} is out of ${project.shownConfig}, and the engine is ending it.`);
      if (performance.now() > until) throw notGone(before, project);
      await pause(LOOK_EVERY_MS);
    }
  } finally {
    progress.end();
  }
}

function notGone({ name }: WorkerReport, { shownConfig }: Project): CommandFailure {
  return new CommandFailure(`Worker ${name} is out of ${shownConfig}, but it still runs after ${GONE_TIMEOUT_MS / 1000} s.`, {
    advice: [`The engine may not have taken the file up: look at its log for a mistake in ${shownConfig}.`],
  });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
