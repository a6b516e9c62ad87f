import { CallError } from "@svc-runtime/protocol";
import type { Worker } from "@svc-runtime/sdk";
import type { Command } from "commander";
import type { EngineOptions } from "../commands/options.ts";
import { pathOf } from "../commands/unknown-command.ts";
import { foreignConfigFile, requireOwnEngine } from "../project/project.ts";
import type { Shell } from "../shell.ts";
import { sayNote } from "../terminal/notes.ts";
import { missingModule } from "../workers/missing-module.ts";
import { type EngineAddress, engineAddress } from "./engine-address.ts";
import { withEngine } from "./engine-session.ts";

export interface EngineRequest {
  readonly command: Command;
  readonly options: EngineOptions;
  /**
   * What the command does. It matters if the address is a guess, because it may lead to the engine of another project.
   * A command that `changes` something then fails, and a command that `reads` only prints a note.
   */
  readonly access: "reads" | "changes";
}

/**
 * Runs `action` on the project's engine. If a function is missing because its module is not loaded, the error contains
 * the command that adds the module.
 */
export async function askEngine<Result>(
  shell: Shell,
  { command, options, access }: EngineRequest,
  action: (engine: Worker, reached: EngineAddress) => Promise<Result>,
): Promise<Result> {
  const address = engineAddress(shell, options);
  const ask = async (engine: Worker, reached: EngineAddress): Promise<Result> => {
    // Only a guessed address is checked. It is not a guess if the user gave it, or if it is from this project's data
    // folder.
    const isGuess = address.from === "default" || address.from === "config";
    if (isGuess && access === "changes") await requireOwnEngine(shell, engine, { address, config: options.config });
    if (isGuess && access === "reads") {
      const foreign = await foreignConfigFile(shell, engine, { address, config: options.config });
      if (foreign !== undefined)
        sayNote(shell, `the engine at ${address.shownUrl} is another project's; it runs with ${foreign}`);
    }
    try {
      return await action(engine, reached);
    } catch (error) {
      throw missingModule(error) ?? error;
    }
  };
  return withEngine(address, pathOf(command), ask, shell);
}

/** Returns the code of a CallError, or undefined for other errors. */
export function codeOf(error: unknown): string | undefined {
  return CallError.is(error) ? error.code : undefined;
}

/**
 * Returns the JSON payload of a call. It has `members`, and one more member whose value is the JSON text `raw.json`.
 * That text is copied unchanged, so that its numbers are not rounded.
 */
export function payloadWith(
  members: Readonly<Record<string, unknown>>,
  raw: { readonly name: string; readonly json: string },
): string {
  const others = JSON.stringify(members).slice(1, -1);
  return `{${others}${others === "" ? "" : ","}${JSON.stringify(raw.name)}:${raw.json}}`;
}
