import type { Command } from "commander";
import { type CommandFailure, usageFailure } from "../exit-codes.ts";

/**
 * Thrown by commander's event listeners for an unknown command name. The listeners cannot await. So `explained` creates
 * the error for the user later.
 */
export class UnknownCommand extends Error {
  readonly #parent: Command;
  readonly #word: string;

  constructor(parent: Command, word: string) {
    super(`unknown command ${word}`);
    this.name = "UnknownCommand";
    this.#parent = parent;
    this.#word = word;
  }

  /** Returns a usage error (exit 2) that suggests the nearest command. */
  async explained(): Promise<CommandFailure> {
    const { nearestName } = await import("@svc-runtime/engine/local-workers");
    const known = this.#parent
      .createHelp()
      .visibleCommands(this.#parent)
      .map((command) => command.name());
    const nearest = nearestName(this.#word, known);
    return usageFailure(
      `Unknown command "${this.#word}"${nearest === undefined ? "." : `; did you mean ${nearest}?`}`,
      `Commands: ${known.join(", ")}`,
      `See: ${pathOf(this.#parent)} --help`,
    );
  }
}

/**
 * Throws UnknownCommand for unknown subcommands, instead of commander's own error. Also rejects help for an unknown
 * command: `svc bogus --help`.
 */
export function rejectUnknownCommands(command: Command): void {
  if (command.commands.length === 0) return;
  command.on("command:*", ([word = ""]: readonly string[]) => {
    throw new UnknownCommand(command, word);
  });
  command.on("beforeHelp", () => {
    const words = command.args[0] === "help" ? command.args.slice(1) : command.args;
    const [word] = words;
    const isKnown = command.commands.some((child) => child.name() === word);
    if (word !== undefined && !word.startsWith("-") && !isKnown) throw new UnknownCommand(command, word);
  });
}

/** Returns the command as typed, e.g. `svc worker add`. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}
