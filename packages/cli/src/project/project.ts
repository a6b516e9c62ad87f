import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, relative } from "node:path";
import type { Worker } from "@svc-runtime/sdk";
import { type EngineAddress, noEngine, projectConfigFile } from "../engine/engine-address.ts";
import { CommandFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";

/** The config file that a command edits, and the folder to which its relative paths refer. */
export interface Project {
  readonly configFile: string;
  readonly dir: string;
  /** The config file as shown in messages. It is only the file's name if the file is in the working directory. */
  readonly shownConfig: string;
}

/** The config file from the option --config, and the address at which the engine was found. */
interface Found {
  readonly address: EngineAddress;
  readonly config: string | undefined;
}

/**
 * Returns the project of a running engine. Throws if the engine belongs to another project, or its config file is on
 * another machine.
 */
export async function projectOfEngine(shell: Shell, worker: Worker, found: Found): Promise<Project> {
  const configFile = await requireOwnEngine(shell, worker, found);
  if (!existsSync(configFile)) {
    throw new CommandFailure(
      `The engine at ${found.address.shownUrl} has its config file ${configFile} on another machine.`,
      {
        advice: ["Run this command there."],
      },
    );
  }
  return project(shell, configFile);
}

/**
 * Returns the config file of the engine. Throws if it is not the file of this project, unless the user gave the
 * engine's address. Reason: two projects on one machine have the same default port, and a command must not change the
 * wrong engine.
 */
export async function requireOwnEngine(shell: Shell, worker: Worker, { address, config }: Found): Promise<string> {
  const { engineFile, projectFile } = await configFiles(shell, worker, config);
  if (isSameFile(engineFile, projectFile)) return engineFile;
  if (config !== undefined) {
    throw new CommandFailure(`The engine at ${address.shownUrl} runs with ${engineFile}, not with ${projectFile}.`, {
      advice: ["Omit --config to use the running engine, or give another engine with --url."],
    });
  }
  if (isExplicit(address) || !existsSync(projectFile)) return engineFile;
  throw new CommandFailure(
    `The engine at ${address.shownUrl} belongs to another project: it runs with ${engineFile}, not with ${projectFile}.`,
    {
      advice: [
        "Start an engine for this project on free ports: svc --bridge-port 0 --http-port 0 --ws-port 0",
        `Or use that engine: pass --url ${address.shownUrl}`,
      ],
    },
  );
}

/** Returns the engine's config file if it belongs to another project, otherwise undefined. */
export async function foreignConfigFile(
  shell: Shell,
  worker: Worker,
  { address, config }: Found,
): Promise<string | undefined> {
  const { engineFile, projectFile } = await configFiles(shell, worker, config);
  return isExplicit(address) || !existsSync(projectFile) || isSameFile(engineFile, projectFile)
    ? undefined
    : engineFile;
}

async function configFiles(
  shell: Shell,
  worker: Worker,
  config: string | undefined,
): Promise<{ readonly engineFile: string; readonly projectFile: string }> {
  const info = await worker.call<{ readonly config_file: string }>({ function_id: "engine::info", payload: {} });
  return { engineFile: info.config_file, projectFile: projectConfigFile(shell, config) };
}

function isExplicit({ from }: EngineAddress): boolean {
  return from === "--url" || from === "SVC_URL";
}

/** Compares two paths after resolving symbolic links. */
export function isSameFile(a: string, b: string): boolean {
  return a === b || realPath(a) === realPath(b);
}

/** Resolves symbolic links. A missing path is returned unchanged. */
function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/**
 * Returns the project of the config file, for the case that no engine runs. Throws (exit 3) if there is no config file.
 */
export function localProject(
  shell: Shell,
  address: EngineAddress,
  options: { readonly config?: string | undefined; readonly problem: string },
): Project {
  const configFile = projectConfigFile(shell, options.config);
  // A wrong --url is a mistake of the user. The command must not edit the config file of another project then.
  if (!existsSync(configFile) || (address.from === "--url" && options.config === undefined))
    throw noEngine(address, options.problem);
  return project(shell, configFile);
}

function project(shell: Shell, configFile: string): Project {
  const fromHere = relative(shell.cwd, configFile);
  return {
    configFile,
    dir: dirname(configFile),
    shownConfig: fromHere === basename(configFile) ? fromHere : configFile,
  };
}
