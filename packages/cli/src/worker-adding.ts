import { join } from "node:path";
import type { EditOptions } from "@svc/engine";
import type { InstallResult, WorkerManifest } from "@svc/engine/local-workers";
import type { Worker } from "@svc/sdk";
import type { BuiltInWorker } from "./built-in-workers.ts";
import { type ListedEntry, listedEntries } from "./config-entries.ts";
import { CommandFailure, usageFailure } from "./exit-codes.ts";
import { offerManifest } from "./manifest-offer.ts";
import { formatDuration, showProgress } from "./progress.ts";
import { isSameFile, type Project } from "./project.ts";
import { providedBy } from "./provided-by.ts";
import { sayBehind, sayNote } from "./remarks.ts";
import type { Shell } from "./shell.ts";
import { steerWorker, type WorkerReport } from "./worker-functions.ts";
import { type FolderTarget, placeNotes, requireFolder, type WorkerTarget } from "./worker-target.ts";
import { waitForWorker } from "./worker-wait.ts";

/** How a worker is to be added. */
export interface Adding {
  readonly project: Project;
  /** Undefined when none runs. */
  readonly engine: Worker | undefined;
  readonly force: boolean;
  readonly wait: boolean;
  /** A manifest for a folder that has none is written without asking. */
  readonly yes: boolean;
  /** Of the entry; undefined leaves what the manifest and the defaults say. */
  readonly name: string | undefined;
  readonly replicas: number | undefined;
  readonly env: Readonly<Record<string, string>> | undefined;
  /** Aborts when the user wants an end. */
  readonly signal: AbortSignal;
}

/** What was added, as `--json` prints it. */
export interface Added {
  readonly name: string;
  readonly kind: "local" | "built-in";
  readonly config_file: string;
  readonly status: "added" | "ready";
  readonly functions: readonly string[];
  readonly trigger_types: readonly string[];
  readonly install: { readonly status: InstallResult["status"]; readonly duration_ms: number } | null;
}

/** Installs, writes the entry and waits until the worker is ready. The config file is untouched when it throws before the entry is written. */
export async function addWorker(shell: Shell, target: WorkerTarget, adding: Adding): Promise<Added> {
  return target.kind === "built-in" ? await addBuiltIn(shell, target.worker, adding) : await addLocal(shell, target, adding);
}

async function addBuiltIn(shell: Shell, worker: BuiltInWorker, adding: Adding): Promise<Added> {
  if (adding.name !== undefined || adding.replicas !== undefined || adding.env !== undefined) {
    throw usageFailure(`${worker.name} is part of the engine: --name, --replicas and --env are for workers of your own.`);
  }
  const { addWorkerToConfig } = await import("@svc/engine");
  const { project } = adding;
  refuseListed({ name: worker.name, folder: undefined }, adding);
  await requireValidConfig(shell, project);
  const entry = { name: worker.name, config: worker.config };
  const { changed } = await editing(shell, (check) => addWorkerToConfig(project.configFile, entry, { comment: worker.comment, check }));
  noteEntry(shell, worker.name, { project, changed });
  return finish(shell, { name: worker.name, kind: "built-in", adding, ready: await awaitReady(shell, worker.name, adding) });
}

async function addLocal(shell: Shell, target: FolderTarget, adding: Adding): Promise<Added> {
  const { addWorkerToConfig } = await import("@svc/engine");
  const { project, engine, replicas, env } = adding;
  requireFolder(target);
  await offerManifest(shell, target, adding);
  const manifest = await manifestOf(target);
  for (const warning of [...manifest.warnings, ...placeNotes(target, project)]) sayNote(shell, warning);
  const name = await entryName(manifest, adding);
  // What would be refused in the end is refused before an install, which takes a while and changes files.
  await requireValidConfig(shell, project);
  const listed = refuseListed({ name, folder: target.folder }, adding);
  // Before the config is touched: an install that fails leaves no entry behind that the engine would try to start.
  const installed = await install(shell, { ...manifest, name }, adding);
  const { changed } = await editing(shell, (check) => addWorkerToConfig(project.configFile, { name, path: target.folder, replicas, env }, { check }));
  noteEntry(shell, name, { project, changed });
  shell.note(installed.status === "cached" ? "Using cached deps\n" : `Dependencies installed in ${formatDuration(installed.durationMs)}\n`);
  if (engine !== undefined && listed) await steerWorker(engine, "restart", name);
  return finish(shell, { name, kind: "local", adding, ready: await awaitReady(shell, name, adding), installed });
}

async function manifestOf({ folder }: FolderTarget): Promise<WorkerManifest> {
  const { ManifestError, readManifest } = await import("@svc/engine/local-workers");
  try {
    return await readManifest(folder);
  } catch (error) {
    if (error instanceof ManifestError) throw new CommandFailure(error.message, { cause: error });
    throw error;
  }
}

async function entryName(manifest: WorkerManifest, { name }: Adding): Promise<string> {
  if (name === undefined) return manifest.name;
  const { workerNameProblem } = await import("@svc/engine/local-workers");
  const problem = workerNameProblem(name);
  if (problem !== undefined) throw usageFailure(`The name ${JSON.stringify(name)} ${problem}.`);
  return name;
}

/** Answers whether the config file lists the worker already; without --force that is refused, and always where the name or the folder is another's. */
function refuseListed({ name, folder }: Pick<ListedEntry, "name" | "folder">, { project, force, replicas, env }: Adding): boolean {
  const { shownConfig } = project;
  const entries = listedEntries(project.configFile);
  const sharer = [...entries.values()].find((entry) => folder !== undefined && entry.folder !== undefined && isSameFile(entry.folder, folder));
  if (sharer !== undefined && sharer.name !== name) {
    throw new CommandFailure(`The folder ${folder} is in ${shownConfig} already, as ${sharer.name}.`, { advice: [moreProcesses(sharer.name, shownConfig)] });
  }
  const listed = entries.get(name);
  if (listed === undefined) return false;
  if (listed.kind === "command") {
    throw new CommandFailure(`The name ${name} is taken in ${shownConfig}: it is a command of svc-exec there.`, {
      advice: [folder === undefined ? "Give that command another name." : otherName(folder)],
    });
  }
  if (folder !== undefined && sharer === undefined) {
    throw new CommandFailure(`The name ${name} is taken in ${shownConfig}: it is ${listed.folder ?? "a module"} there, and not ${folder}.`, {
      advice: [otherName(folder), `Or remove that one first: svc worker remove ${name}`],
    });
  }
  if (replicas !== undefined || env !== undefined) {
    throw new CommandFailure(`Worker ${name} is in ${shownConfig} already, and its entry stays as it is.`, {
      advice: [`Change replicas: and env: of that entry in ${shownConfig}; the engine takes them up at once.`],
    });
  }
  if (force) return true;
  throw new CommandFailure(`Worker ${name} is in ${shownConfig} already.`, {
    advice: [
      "Add --force to install it anew and restart it. See how it is: svc worker list",
      ...(folder === undefined ? [] : [moreProcesses(name, shownConfig)]),
    ],
  });
}

function otherName(folder: string): string {
  return `Give this worker a name of its own with --name or in ${join(folder, "svc.worker.yaml")}`;
}

function moreProcesses(name: string, shownConfig: string): string {
  return `For more processes of it, write \`replicas: 2\` into the entry of ${name} in ${shownConfig}.`;
}

/** Refuses a config file with mistakes: the engine would not take it up. */
export async function requireValidConfig(shell: Shell, { configFile }: Project): Promise<void> {
  const { ConfigError, configurableModules, loadConfig } = await import("@svc/engine");
  try {
    loadConfig(configFile, { env: shell.env, modules: configurableModules, cwd: shell.cwd });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // Variables are the engine's: it may have been started with others than this command.
    const problems = error.problems.filter(({ message }) => !/environment variable \w+ is not set/.test(message));
    if (problems.length === 0) return;
    throw new CommandFailure(new ConfigError(configFile, problems).message, {
      cause: error,
      advice: ["Put that right first; nothing was installed or changed."],
    });
  }
}

async function install(shell: Shell, manifest: WorkerManifest, { project, force, signal }: Adding): Promise<InstallResult> {
  const { InstallError, installWorker } = await import("@svc/engine/local-workers");
  const progress = showProgress(shell, `Installing dependencies of ${manifest.name}`);
  try {
    return await installWorker({ manifest, projectDir: project.dir, onProgress: (line) => progress.say(line), signal, force });
  } catch (error) {
    if (!(error instanceof InstallError)) throw error;
    progress.end();
    throw new CommandFailure(error.message, { cause: error, advice: [`${project.shownConfig} was not changed by this.`] });
  } finally {
    progress.end();
  }
}

/** Edits the config file, but not to something that the engine would refuse. What is refused is for the user to put right. */
export async function editing<Result>(shell: Shell, edit: (check: NonNullable<EditOptions["check"]>) => Promise<Result>): Promise<Result> {
  const { ConfigEditError, ConfigError, configurableModules } = await import("@svc/engine");
  try {
    return await edit({ env: shell.env, modules: configurableModules, cwd: shell.cwd });
  } catch (error) {
    if (error instanceof ConfigEditError || error instanceof ConfigError) throw new CommandFailure(error.message, { cause: error });
    throw error;
  }
}

function noteEntry(shell: Shell, name: string, { project, changed }: { readonly project: Project; readonly changed: boolean }): void {
  shell.note(changed ? `Worker ${name} added to ${project.shownConfig}\n` : `Worker ${name} is in ${project.shownConfig} already\n`);
}

/** Undefined when nobody waits. */
async function awaitReady(shell: Shell, name: string, { engine, wait, signal, project }: Adding): Promise<WorkerReport | undefined> {
  if (engine === undefined || !wait) return undefined;
  const adviceIfStopped = [
    `It stays in ${project.shownConfig}, and the engine goes on starting it. See how it is: svc worker status ${name}`,
    `To take it back: svc worker remove ${name}`,
  ];
  return await waitForWorker(shell, engine, { name, signal, adviceIfStopped });
}

interface Outcome {
  readonly name: string;
  readonly kind: "local" | "built-in";
  readonly adding: Adding;
  readonly ready: WorkerReport | undefined;
  readonly installed?: InstallResult;
}

function finish(shell: Shell, { name, kind, adding, ready, installed }: Outcome): Added {
  if (ready !== undefined) {
    shell.note("Worker auto-started\n");
    sayBehind(shell, shell.paint.green("Ready:"), providedBy(ready));
  }
  return {
    name,
    kind,
    config_file: adding.project.configFile,
    status: ready === undefined ? "added" : "ready",
    functions: ready?.functions ?? [],
    trigger_types: ready?.trigger_types ?? [],
    install: installed === undefined ? null : { status: installed.status, duration_ms: installed.durationMs },
  };
}
