import { existsSync } from "node:fs";
import { basename, dirname, relative, resolve } from "node:path";
import type { Worker } from "@svc/sdk";
import { DEFAULT_CONFIG_FILE, type EngineAddress, noEngine } from "./engine-address.ts";
import { CommandFailure } from "./exit-codes.ts";
import type { Shell } from "./shell.ts";

/** The config file that a command edits, and the folder that its relative paths start from. */
export interface Project {
  readonly configFile: string;
  readonly dir: string;
  /** The config file as messages show it: short when it lies at hand. */
  readonly shownConfig: string;
}

/** The project of a running engine, by its own word. Fails when `--config` names another file: that edit would reach no engine. */
export async function projectOfEngine(shell: Shell, worker: Worker, address: EngineAddress, config: string | undefined): Promise<Project> {
  const info = await worker.call<{ readonly config_file: string }>({ function_id: "engine::info", payload: {} });
  const configFile = info.config_file;
  if (config !== undefined && resolve(shell.cwd, config) !== configFile) {
    throw new CommandFailure(`The engine at ${address.shownUrl} runs with ${configFile}, not with ${resolve(shell.cwd, config)}.`, {
      advice: ["Leave --config out to add to the running engine, or name another engine with --url."],
    });
  }
  if (!existsSync(configFile)) {
    throw new CommandFailure(`The engine at ${address.shownUrl} has its config file ${configFile} on another machine.`, {
      advice: ["Run this command there."],
    });
  }
  return project(shell, configFile);
}

/** The project at hand, for when no engine runs. Exit 3 when there is none. */
export function projectAtHand(shell: Shell, address: EngineAddress, options: { readonly config?: string | undefined; readonly problem: string }): Project {
  const configFile = resolve(shell.cwd, options.config ?? DEFAULT_CONFIG_FILE);
  // An engine that was named and is not there is a mistake, not an invitation to edit some other project's file.
  if (!existsSync(configFile) || (address.from === "--url" && options.config === undefined)) throw noEngine(address, options.problem);
  return project(shell, configFile);
}

function project(shell: Shell, configFile: string): Project {
  const fromHere = relative(shell.cwd, configFile);
  return { configFile, dir: dirname(configFile), shownConfig: fromHere === basename(configFile) ? fromHere : configFile };
}
