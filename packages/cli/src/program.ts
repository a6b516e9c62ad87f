import { readFileSync } from "node:fs";
import { Command } from "commander";
import { completeCommand } from "./commands/complete.ts";
import { configureEngineCommand } from "./commands/engine.ts";
import { commands } from "./commands/index.ts";
import { limitForTail } from "./commands/options.ts";
import { pathOf, rejectUnknownCommands } from "./commands/unknown-command.ts";
import type { Shell } from "./shell.ts";
import { say, sayBehind } from "./terminal/notes.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};

/** Minimum width of a description, in columns. Below it, descriptions are not wrapped at words. */
const MIN_HELP_WIDTH = 16;

/** Builds the command line. It never exits the process: where commander would exit, it throws an error instead. */
export function buildProgram(shell: Shell): Command {
  const program = new Command("svc")
    .description(
      "One runtime for functions, triggers and workers. Without a command: run the engine in the foreground.",
    )
    .version(version, "-v, --version", "print the version")
    .helpOption("-h, --help", "print help; for a command: svc <command> --help")
    // Options after a command belong to that command, because both `svc` and its commands have --config.
    .enablePositionalOptions()
    .showSuggestionAfterError();
  configureEngineCommand(program, shell);
  for (const command of commands) program.addCommand(command(shell));
  program.addCommand(completeCommand(shell), { hidden: true });
  redirectOutput(program, shell);
  return program;
}

/**
 * Returns the error text for an unknown option. If the option is `--tail` and the command has `--limit`, suggests
 * `--limit` instead of the similar word that commander found.
 */
function withOtherName(command: Command, error: string): string {
  const [unknown, option = ""] = /^unknown option '(.+)'/.exec(error) ?? [];
  const limit = limitForTail(command, option);
  return limit === undefined ? error : `${unknown}\n(Did you mean ${limit}?)`;
}

/** Redirects output and exits of commander for a command and all its subcommands. */
function redirectOutput(command: Command, shell: Shell): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => shell.out(text),
    writeErr: (text) => shell.note(text),
    getOutHelpWidth: () => shell.outColumns ?? 100,
    getErrHelpWidth: () => shell.noteColumns ?? 100,
    getOutHasColors: () => false,
    getErrHasColors: () => false,
    outputError: (text) => {
      sayBehind(shell, shell.paint.red("error:"), withOtherName(command, text.replace(/^error: /, "").trimEnd()));
      say(shell, `See: ${pathOf(command)} --help`);
    },
  });
  // List subcommands without their arguments, because arguments would leave no space for the summaries.
  command.configureHelp({ subcommandTerm: (child) => child.name(), minWidthToWrap: MIN_HELP_WIDTH });
  rejectUnknownCommands(command);
  for (const child of command.commands) redirectOutput(child, shell);
}
