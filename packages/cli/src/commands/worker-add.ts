import { statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve, sep } from "node:path";
import type { InstallResult, WorkerManifest } from "@svc/engine/local-workers";
import type { Worker } from "@svc/sdk";
import { Command } from "commander";
import { type BuiltInWorker, builtInWorkers, findBuiltIn } from "../built-in-workers.ts";
import { type ListedEntry, listedEntries } from "../config-entries.ts";
import { engineAddress, probe } from "../engine-address.ts";
import { withEngine } from "../engine-session.ts";
import { CommandFailure, usageFailure } from "../exit-codes.ts";
import { formatDuration, showProgress } from "../progress.ts";
import { isSameFile, type Project, projectAtHand, projectOfEngine } from "../project.ts";
import { providedBy } from "../provided-by.ts";
import type { Shell } from "../shell.ts";
import { restartWorker, type WorkerReport } from "../worker-functions.ts";
import { waitForWorker } from "../worker-wait.ts";
import { configOption, urlOption } from "./options.ts";

interface AddOptions {
  readonly force?: true;
  readonly wait: boolean;
  readonly url?: string;
  readonly config?: string;
  readonly json?: true;
}

/** `svc worker add`: a worker of the user's own by its folder, or one that comes with the engine by its name. */
export function workerAddCommand(shell: Shell): Command {
  return new Command("add")
    .summary("add a worker to the engine and wait until it is ready")
    .description(
      "Add a worker: install its dependencies, write it into the config file of the running engine, and wait until it is ready. Without an engine it starts with the next one.",
    )
    .argument("<worker>", `folder of a worker, e.g. ./workers/math-worker, or the name of a built-in one: ${builtInWorkers.map(({ name }) => name).join(", ")}`)
    .option("-f, --force", "install anew and restart, even when nothing changed or the worker is there already")
    .option("--no-wait", "do not wait until the worker is ready")
    .addOption(urlOption())
    .addOption(configOption("config file to add to when no engine runs"))
    .option("--json", "print what was done as JSON on standard output")
    .addHelpText("after", "\nExamples:\n  svc worker add ./workers/math-worker\n  svc worker add ./workers/math-worker --force\n  svc worker add svc-state\n")
    .action((name: string, options: AddOptions, command: Command) => addWorker(shell, name, { ...options, ...command.optsWithGlobals<{ config?: string }>() }));
}

type Target = { readonly kind: "local"; readonly folder: string; readonly shown: string } | { readonly kind: "built-in"; readonly worker: BuiltInWorker };

async function addWorker(shell: Shell, name: string, options: AddOptions): Promise<void> {
  const target = await targetOf(shell, name);
  const address = engineAddress(shell, options);
  const problem = await probe(address);
  if (problem === undefined) {
    await withEngine(address, "svc worker add", async (engine) => {
      const project = await projectOfEngine(shell, engine, { address, config: options.config });
      await add(shell, target, { project, engine, options });
    });
    return;
  }
  const project = projectAtHand(shell, address, { config: options.config, problem });
  await add(shell, target, { project, engine: undefined, options });
  shell.note(`No engine runs at ${address.shownUrl}; the worker starts with the next one: svc --config ${project.shownConfig}\n`);
}

/** A path begins with `.`, `/` or `~`, or holds a separator; anything else is a name. */
async function targetOf(shell: Shell, name: string): Promise<Target> {
  const looksLikePath = /^[.~]/.test(name) || isAbsolute(name) || name.includes("/") || name.includes(sep);
  if (looksLikePath) {
    const expanded = name === "~" || name.startsWith("~/") ? join(shell.env.HOME ?? homedir(), name.slice(1)) : name;
    return { kind: "local", folder: resolve(shell.cwd, expanded), shown: name };
  }
  const worker = findBuiltIn(name);
  if (worker !== undefined) return { kind: "built-in", worker };
  const { nearestName } = await import("@svc/engine/local-workers");
  const folder = ownFolder(shell, name);
  const meant =
    folder ??
    nearestName(
      name,
      builtInWorkers.map((known) => known.name),
    );
  throw usageFailure(
    `There is no built-in worker "${name}"${meant === undefined ? "." : `; did you mean ${meant}?`}`,
    "Built-in workers:",
    ...builtInWorkers.map((known) => `  ${known.name}: ${known.summary}`),
    `A worker of your own is named by its folder: svc worker add ${folder ?? "./workers/math-worker"}`,
  );
}

/** A folder that the name was probably meant to be, as one types it. */
function ownFolder(shell: Shell, name: string): string | undefined {
  return [`./${name}`, `./workers/${name}`].find((path) => isFolder(resolve(shell.cwd, path)));
}

interface Adding {
  readonly project: Project;
  /** Undefined when none runs. */
  readonly engine: Worker | undefined;
  readonly options: AddOptions;
}

async function add(shell: Shell, target: Target, adding: Adding): Promise<void> {
  if (target.kind === "built-in") await addBuiltIn(shell, target.worker, adding);
  else await addLocal(shell, target, adding);
}

async function addBuiltIn(shell: Shell, worker: BuiltInWorker, { project, engine, options }: Adding): Promise<void> {
  const { addWorkerToConfig } = await import("@svc/engine");
  refuseListed({ name: worker.name, folder: undefined }, { project, options });
  await requireValidConfig(shell, project);
  const { changed } = await editing(() => addWorkerToConfig(project.configFile, { name: worker.name, config: worker.config }, { comment: worker.comment }));
  shell.note(changed ? `Worker ${worker.name} added to ${project.shownConfig}\n` : `Worker ${worker.name} is in ${project.shownConfig} already\n`);
  const ready = engine !== undefined && options.wait ? await waitForWorker(shell, engine, { name: worker.name, shownConfig: project.shownConfig }) : undefined;
  finish(shell, { name: worker.name, kind: "built-in", project, options, ready });
}

async function addLocal(shell: Shell, target: Target & { readonly kind: "local" }, { project, engine, options }: Adding): Promise<void> {
  const [{ addWorkerToConfig }, localWorkers] = await Promise.all([import("@svc/engine"), import("@svc/engine/local-workers")]);
  requireFolder(target);
  const manifest = await localWorkers.readManifest(target.folder).catch((error: unknown) => {
    if (error instanceof localWorkers.ManifestError) throw new CommandFailure(error.message, { cause: error });
    throw error;
  });
  for (const warning of manifest.warnings) shell.note(`${shell.paint.yellow("note:")} ${warning}\n`);
  const { name } = manifest;
  // What would be refused in the end is refused before an install, which takes a while and changes files.
  await requireValidConfig(shell, project);
  const listed = refuseListed({ name, folder: target.folder }, { project, options });

  // Before the config is touched: an install that fails leaves no entry behind that the engine would try to start.
  const installed = await install(shell, manifest, { project, options });
  const { changed } = await editing(() => addWorkerToConfig(project.configFile, { name, path: target.folder }));
  shell.note(changed ? `Worker ${name} added to ${project.shownConfig}\n` : `Worker ${name} is in ${project.shownConfig} already\n`);
  shell.note(installed.status === "cached" ? "Using cached deps\n" : `Dependencies installed in ${formatDuration(installed.durationMs)}\n`);
  if (engine !== undefined && listed) await restartWorker(engine, name);
  const ready = engine !== undefined && options.wait ? await waitForWorker(shell, engine, { name, shownConfig: project.shownConfig }) : undefined;
  finish(shell, { name, kind: "local", project, options, ready, installed });
}

/** Answers whether the config file lists the worker already; without --force that is refused, and always where the name is another's. */
function refuseListed({ name, folder }: ListedEntry, { project, options }: Pick<Adding, "project" | "options">): boolean {
  const listed = listedEntries(project.configFile).get(name);
  if (listed === undefined) return false;
  if (folder !== undefined && (listed.folder === undefined || !isSameFile(listed.folder, folder))) {
    throw new CommandFailure(`The name ${name} is taken in ${project.shownConfig}: it is ${listed.folder ?? "a module"} there, and not ${folder}.`, {
      advice: [`Give this worker a name of its own in ${join(folder, "svc.worker.yaml")}, or remove that entry from ${project.shownConfig} first.`],
    });
  }
  if (options.force) return true;
  throw new CommandFailure(`Worker ${name} is in ${project.shownConfig} already.`, {
    advice: ["Add --force to install it anew and restart it. See how it is: svc worker list"],
  });
}

/** Refuses a config file with mistakes: the engine would not take it up. */
async function requireValidConfig(shell: Shell, { configFile }: Project): Promise<void> {
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

function requireFolder({ folder, shown }: { readonly folder: string; readonly shown: string }): void {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) throw new CommandFailure(`There is no folder ${shown}.`, { advice: [`It was looked for at ${folder}.`] });
  if (!stats.isDirectory()) throw new CommandFailure(`${shown} is a file; a worker is named by its folder.`);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

async function install(shell: Shell, manifest: WorkerManifest, { project, options }: Pick<Adding, "project" | "options">): Promise<InstallResult> {
  const { InstallError, installWorker } = await import("@svc/engine/local-workers");
  const abort = new AbortController();
  const undo = shell.onStopSignal(() => abort.abort());
  const progress = showProgress(shell, `Installing dependencies of ${manifest.name}`);
  try {
    return await installWorker({
      manifest,
      projectDir: project.dir,
      onProgress: (line) => progress.say(line),
      signal: abort.signal,
      force: options.force ?? false,
    });
  } catch (error) {
    if (!(error instanceof InstallError)) throw error;
    progress.end();
    throw new CommandFailure(error.message, { cause: error, advice: [`${project.shownConfig} was not changed by this.`] });
  } finally {
    progress.end();
    undo();
  }
}

/** What the editor of the config file refuses is for the user to put right. */
async function editing<Result>(edit: () => Promise<Result>): Promise<Result> {
  const { ConfigEditError, ConfigError } = await import("@svc/engine");
  try {
    return await edit();
  } catch (error) {
    if (error instanceof ConfigEditError || error instanceof ConfigError) throw new CommandFailure(error.message, { cause: error });
    throw error;
  }
}

interface Outcome {
  readonly name: string;
  readonly kind: "local" | "built-in";
  readonly project: Project;
  readonly options: AddOptions;
  /** Undefined when nobody waited. */
  readonly ready: WorkerReport | undefined;
  readonly installed?: InstallResult;
}

function finish(shell: Shell, { name, kind, project, options, ready, installed }: Outcome): void {
  if (ready !== undefined) {
    shell.note("Worker auto-started\n");
    shell.note(`${shell.paint.green("Ready:")} ${providedBy(ready, shell.noteColumns)}\n`);
  }
  if (!options.json) return;
  const facts = {
    name,
    kind,
    config_file: project.configFile,
    status: ready === undefined ? "added" : "ready",
    functions: ready?.functions ?? [],
    trigger_types: ready?.trigger_types ?? [],
    install: installed === undefined ? null : { status: installed.status, duration_ms: installed.durationMs },
  };
  shell.out(`${JSON.stringify(facts)}\n`);
}
