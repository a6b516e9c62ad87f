import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, relative } from "node:path";
import type { Worker } from "@svc/sdk";
import { type EngineAddress, noEngine, projectConfigFile } from "./engine-address.ts";
import { CommandFailure } from "./exit-codes.ts";
import type { Shell } from "./shell.ts";

/** The config file that a command edits, and the folder that its relative paths start from. */
export interface Project {
  readonly configFile: string;
  readonly dir: string;
  /** The config file as messages show it: short when it lies at hand. */
  readonly shownConfig: string;
}

/** Which file the project at hand has, and how the engine was found. */
interface Found {
  readonly address: EngineAddress;
  readonly config: string | undefined;
}

/** The project of a running engine, by its own word. Refuses another project's engine, and one whose file is not on this machine. */
export async function projectOfEngine(shell: Shell, worker: Worker, found: Found): Promise<Project> {
  const configFile = await requireOwnEngine(shell, worker, found);
  if (!existsSync(configFile)) {
    throw new CommandFailure(`The engine at ${found.address.shownUrl} has its config file ${configFile} on another machine.`, {
      advice: ["Run this command there."],
    });
  }
  return project(shell, configFile);
}

/**
 * Answers the config file of the engine. Fails when that is not the project's at hand, unless the engine was named by its address: two
 * projects on one machine share the default port, and a command must not act on the other one's engine by accident.
 */
export async function requireOwnEngine(shell: Shell, worker: Worker, { address, config }: Found): Promise<string> {
  const { engineFile, projectFile } = await configFiles(shell, worker, config);
  if (isSameFile(engineFile, projectFile)) return engineFile;
  if (config !== undefined) {
    throw new CommandFailure(`The engine at ${address.shownUrl} runs with ${engineFile}, not with ${projectFile}.`, {
      advice: ["Leave --config out to act on the running engine, or name another engine with --url."],
    });
  }
  if (isNamed(address) || !existsSync(projectFile)) return engineFile;
  throw new CommandFailure(`The engine at ${address.shownUrl} belongs to another project: it runs with ${engineFile}, not with ${projectFile}.`, {
    advice: [
      "Start one for this project, on free ports: svc --bridge-port 0 --http-port 0 --ws-port 0",
      `Or, if you mean that engine: pass --url ${address.shownUrl}`,
    ],
  });
}

/** The config file of the engine that answered where that is another project's than the one at hand; else undefined. */
export async function foreignConfigFile(shell: Shell, worker: Worker, { address, config }: Found): Promise<string | undefined> {
  const { engineFile, projectFile } = await configFiles(shell, worker, config);
  return isNamed(address) || !existsSync(projectFile) || isSameFile(engineFile, projectFile) ? undefined : engineFile;
}

async function configFiles(shell: Shell, worker: Worker, config: string | undefined): Promise<{ readonly engineFile: string; readonly projectFile: string }> {
  const info = await worker.call<{ readonly config_file: string }>({ function_id: "engine::info", payload: {} });
  return { engineFile: info.config_file, projectFile: projectConfigFile(shell, config) };
}

function isNamed({ from }: EngineAddress): boolean {
  return from === "--url" || from === "SVC_URL";
}

/** By what is behind symbolic links, so that one folder under two names is one. */
export function isSameFile(a: string, b: string): boolean {
  return a === b || behindLinks(a) === behindLinks(b);
}

/** A path that is not there is as it is. */
function behindLinks(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** The project at hand, for when no engine runs. Exit 3 when there is none. */
export function projectAtHand(shell: Shell, address: EngineAddress, options: { readonly config?: string | undefined; readonly problem: string }): Project {
  const configFile = projectConfigFile(shell, options.config);
  // An engine that was named and is not there is a mistake, not an invitation to edit some other project's file.
  if (!existsSync(configFile) || (address.from === "--url" && options.config === undefined)) throw noEngine(address, options.problem);
  return project(shell, configFile);
}

function project(shell: Shell, configFile: string): Project {
  const fromHere = relative(shell.cwd, configFile);
  return { configFile, dir: dirname(configFile), shownConfig: fromHere === basename(configFile) ? fromHere : configFile };
}
