import type { Command } from "commander";
import { type CommandFailure, usageFailure } from "../exit-codes.ts";

/** A word stands where a command's name does, and there is no such command. Thrown where nothing can be awaited; `explained` says it. */
export class UnknownCommand extends Error {
  readonly #parent: Command;
  readonly #word: string;

  constructor(parent: Command, word: string) {
    super(`there is no command ${word}`);
    this.name = "UnknownCommand";
    this.#parent = parent;
    this.#word = word;
  }

  /** Exit 2, with the name that was probably meant. */
  async explained(): Promise<CommandFailure> {
    const { nearestName } = await import("@svc/engine/local-workers");
    const known = this.#parent
      .createHelp()
      .visibleCommands(this.#parent)
      .map((command) => command.name());
    const nearest = nearestName(this.#word, known);
    return usageFailure(
      `There is no command "${this.#word}"${nearest === undefined ? "." : `; did you mean ${nearest}?`}`,
      `Commands: ${known.join(", ")}`,
      `See: ${pathOf(this.#parent)} --help`,
    );
  }
}

/** In our words and not commander's. Help that is asked for a command that is not there is no help either: `svc bogus --help`. */
export function refuseUnknown(command: Command): void {
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

/** As it is typed, e.g. `svc worker add`. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}
