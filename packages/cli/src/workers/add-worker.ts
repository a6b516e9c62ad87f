import { join } from "node:path";
import type { EditOptions } from "@svc-runtime/engine";
import type { InstallResult, WorkerManifest } from "@svc-runtime/engine/local-workers";
import { CommandFailure, usageFailure } from "../exit-codes.ts";
import { type ListedEntry, listedEntries } from "../project/config-entries.ts";
import { isSameFile, type Project } from "../project/project.ts";
import type { Shell } from "../shell.ts";
import { sayBehind, sayNote } from "../terminal/notes.ts";
import { formatDuration, showProgress } from "../terminal/progress.ts";
import type { BuiltInWorker } from "./built-in-workers.ts";
import { offerManifest } from "./offer-manifest.ts";
import { providedBy } from "./provided-by.ts";
import { waitForWorker } from "./wait-for-worker.ts";
import { controlWorker, type EngineCalls, type WorkerReport } from "./worker-functions.ts";
import { type FolderTarget, locationNotes, requireFolder, type WorkerTarget } from "./worker-target.ts";

/** Options for adding a worker. */
export interface AddRequest {
  readonly project: Project;
  /** Undefined if no engine runs. */
  readonly engine: EngineCalls | undefined;
  readonly force: boolean;
  readonly wait: boolean;
  /** True: write a missing manifest without asking. */
  readonly yes: boolean;
  /** Values for the entry. If they are undefined, the manifest's values and the defaults apply. */
  readonly name: string | undefined;
  readonly replicas: number | undefined;
  readonly env: Readonly<Record<string, string>> | undefined;
  /** Aborts when the user stops the command. */
  readonly signal: AbortSignal;
}

/** Result of adding a worker, as printed by `--json`. */
export interface Added {
  readonly name: string;
  readonly kind: "local" | "built-in";
  readonly config_file: string;
  readonly status: "added" | "ready";
  readonly functions: readonly string[];
  readonly trigger_types: readonly string[];
  readonly install: { readonly status: InstallResult["status"]; readonly duration_ms: number } | null;
}

/**
 * Installs dependencies, writes the entry and waits until the worker is ready. If it throws before it has written the
 * entry, the config file is unchanged.
 */
export async function addWorker(shell: Shell, target: WorkerTarget, request: AddRequest): Promise<Added> {
  return target.kind === "built-in"
    ? await addBuiltIn(shell, target.worker, request)
    : await addLocal(shell, target, request);
}

async function addBuiltIn(shell: Shell, worker: BuiltInWorker, request: AddRequest): Promise<Added> {
  if (request.name !== undefined || request.replicas !== undefined || request.env !== undefined) {
    throw usageFailure(
      `${worker.name} is part of the engine; --name, --replicas and --env are only for your own workers.`,
    );
  }
  const { addWorkerToConfig } = await import("@svc-runtime/engine");
  const { project } = request;
  checkListed({ name: worker.name, folder: undefined }, request);
  await requireValidConfig(shell, project);
  const entry = { name: worker.name, config: worker.config };
  const { changed } = await editing(shell, (check) =>
    addWorkerToConfig(project.configFile, entry, { comment: worker.comment, check }),
  );
  noteEntry(shell, worker.name, { project, changed });
  return finish(shell, {
    name: worker.name,
    kind: "built-in",
    request,
    ready: await awaitReady(shell, worker.name, request),
  });
}

async function addLocal(shell: Shell, target: FolderTarget, request: AddRequest): Promise<Added> {
  const { addWorkerToConfig } = await import("@svc-runtime/engine");
  const { project, engine, replicas, env } = request;
  requireFolder(target);
  await offerManifest(shell, target, request);
  const manifest = await manifestOf(target);
  for (const warning of [...manifest.warnings, ...locationNotes(target, project)]) sayNote(shell, warning);
  const name = await entryName(manifest, request);
  // Check this first, because the install takes long and changes files.
  await requireValidConfig(shell, project);
  const listed = checkListed({ name, folder: target.folder }, request);
  // Install before the config file changes. If the install fails, the file has no entry that the engine would try to
  // start.
  const installed = await install(shell, { ...manifest, name }, request);
  const { changed } = await editing(shell, (check) =>
    addWorkerToConfig(project.configFile, { name, path: target.folder, replicas, env }, { check }),
  );
  noteEntry(shell, name, { project, changed });
  shell.note(
    installed.status === "cached"
      ? "Using cached deps\n"
      : `Dependencies installed in ${formatDuration(installed.durationMs)}\n`,
  );
  if (engine !== undefined && listed) await controlWorker(engine, "restart", name);
  return finish(shell, { name, kind: "local", request, ready: await awaitReady(shell, name, request), installed });
}

async function manifestOf({ folder }: FolderTarget): Promise<WorkerManifest> {
  const { ManifestError, readManifest } = await import("@svc-runtime/engine/local-workers");
  try {
    return await readManifest(folder);
  } catch (error) {
    if (error instanceof ManifestError) throw new CommandFailure(error.message, { cause: error });
    throw error;
  }
}

async function entryName(manifest: WorkerManifest, { name }: AddRequest): Promise<string> {
  if (name === undefined) return manifest.name;
  const { workerNameProblem } = await import("@svc-runtime/engine/local-workers");
  const problem = workerNameProblem(name);
  if (problem !== undefined) throw usageFailure(`The name ${JSON.stringify(name)} ${problem}.`);
  return name;
}

/**
 * Returns true if the config file lists the worker already. Throws in that case without --force. Throws always if the
 * name or the folder belongs to another entry.
 */
function checkListed(
  { name, folder }: Pick<ListedEntry, "name" | "folder">,
  { project, force, replicas, env }: AddRequest,
): boolean {
  const { shownConfig } = project;
  const entries = listedEntries(project.configFile);
  const sharer = [...entries.values()].find(
    (entry) => folder !== undefined && entry.folder !== undefined && isSameFile(entry.folder, folder),
  );
  if (sharer !== undefined && sharer.name !== name) {
    throw new CommandFailure(`The folder ${folder} is already in ${shownConfig}, as ${sharer.name}.`, {
      advice: [moreProcesses(sharer.name, shownConfig)],
    });
  }
  const listed = entries.get(name);
  if (listed === undefined) return false;
  if (listed.kind === "command") {
    throw new CommandFailure(`The name ${name} is already used in ${shownConfig} by a command of svc-exec.`, {
      advice: [folder === undefined ? "Rename that command." : otherName(folder)],
    });
  }
  if (folder !== undefined && sharer === undefined) {
    throw new CommandFailure(
      `The name ${name} is already used in ${shownConfig} by ${listed.folder ?? "a module"}, not by ${folder}.`,
      {
        advice: [otherName(folder), `Or remove the other worker first: svc worker remove ${name}`],
      },
    );
  }
  if (replicas !== undefined || env !== undefined) {
    throw new CommandFailure(`Worker ${name} is already in ${shownConfig}; its entry was not changed.`, {
      advice: [`Change replicas: and env: of that entry in ${shownConfig}; the engine applies them at once.`],
    });
  }
  if (force) return true;
  throw new CommandFailure(`Worker ${name} is already in ${shownConfig}.`, {
    advice: [
      "Pass --force to install it again and restart it. Show its state: svc worker list",
      ...(folder === undefined ? [] : [moreProcesses(name, shownConfig)]),
    ],
  });
}

function otherName(folder: string): string {
  return `Give this worker another name with --name or in ${join(folder, "svc.worker.yaml")}`;
}

function moreProcesses(name: string, shownConfig: string): string {
  return `To run more processes of it, set \`replicas: 2\` in the entry of ${name} in ${shownConfig}.`;
}

/** Throws if the config file is invalid, because the engine would not load it. */
export async function requireValidConfig(shell: Shell, { configFile }: Project): Promise<void> {
  const { ConfigError, loadConfig, loadModules } = await import("@svc-runtime/engine");
  const modules = await loadModules();
  try {
    loadConfig(configFile, { env: shell.env, modules, cwd: shell.cwd });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // Missing variables are ignored, because the engine may have other environment variables than this command.
    const problems = error.problems.filter(({ message }) => !/environment variable \w+ is not set/.test(message));
    if (problems.length === 0) return;
    throw new CommandFailure(new ConfigError(configFile, problems).message, {
      cause: error,
      advice: ["Fix the file first; nothing was installed or changed."],
    });
  }
}

async function install(
  shell: Shell,
  manifest: WorkerManifest,
  { project, force, signal }: AddRequest,
): Promise<InstallResult> {
  const { InstallError, installWorker } = await import("@svc-runtime/engine/local-workers");
  const progress = showProgress(shell, `Installing dependencies of ${manifest.name}`);
  try {
    return await installWorker({
      manifest,
      projectDir: project.dir,
      onProgress: (line) => progress.say(line),
      signal,
      force,
    });
  } catch (error) {
    if (!(error instanceof InstallError)) throw error;
    progress.end();
    throw new CommandFailure(error.message, { cause: error, advice: [`${project.shownConfig} was not changed.`] });
  } finally {
    progress.end();
  }
}

/** Edits the config file, unless the result would be invalid. Errors of the config file become command failures. */
export async function editing<Result>(
  shell: Shell,
  edit: (check: NonNullable<EditOptions["check"]>) => Promise<Result>,
): Promise<Result> {
  const { ConfigEditError, ConfigError, loadModules } = await import("@svc-runtime/engine");
  try {
    return await edit({ env: shell.env, modules: await loadModules(), cwd: shell.cwd });
  } catch (error) {
    if (error instanceof ConfigEditError || error instanceof ConfigError)
      throw new CommandFailure(error.message, { cause: error });
    throw error;
  }
}

function noteEntry(
  shell: Shell,
  name: string,
  { project, changed }: { readonly project: Project; readonly changed: boolean },
): void {
  shell.note(
    changed
      ? `Worker ${name} added to ${project.shownConfig}\n`
      : `Worker ${name} is already in ${project.shownConfig}\n`,
  );
}

/** Waits until the worker is ready. Returns undefined if the command does not wait. */
async function awaitReady(
  shell: Shell,
  name: string,
  { engine, wait, signal, project }: AddRequest,
): Promise<WorkerReport | undefined> {
  if (engine === undefined || !wait) return undefined;
  const adviceIfStopped = [
    `It stays in ${project.shownConfig}, and the engine keeps starting it. Show its state: svc worker status ${name}`,
    `To remove it: svc worker remove ${name}`,
  ];
  return await waitForWorker(shell, engine, { name, signal, adviceIfStopped });
}

interface Outcome {
  readonly name: string;
  readonly kind: "local" | "built-in";
  readonly request: AddRequest;
  readonly ready: WorkerReport | undefined;
  readonly installed?: InstallResult;
}

function finish(shell: Shell, { name, kind, request, ready, installed }: Outcome): Added {
  if (ready !== undefined) {
    shell.note("Worker auto-started\n");
    sayBehind(shell, shell.paint.green("Ready:"), providedBy(ready));
  }
  return {
    name,
    kind,
    config_file: request.project.configFile,
    status: ready === undefined ? "added" : "ready",
    functions: ready?.functions ?? [],
    trigger_types: ready?.trigger_types ?? [],
    install: installed === undefined ? null : { status: installed.status, duration_ms: installed.durationMs },
  };
}
