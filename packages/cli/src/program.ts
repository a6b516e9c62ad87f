import { readFileSync } from "node:fs";
import { Command } from "commander";
import { completeCommand } from "./commands/complete.ts";
import { configureEngineCommand } from "./commands/engine.ts";
import { commands } from "./commands/index.ts";
import { pathOf, refuseUnknown } from "./commands/unknown-command.ts";
import { say, sayBehind } from "./remarks.ts";
import type { Shell } from "./shell.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { readonly version: string };

/** Columns of a description below which its words are broken by the terminal and not by us. */
const LEAST_HELP_WIDTH = 16;

/** The whole command line. Nothing in it ends the process: commander's own exits become errors. */
export function buildProgram(shell: Shell): Command {
  const program = new Command("svc")
    .description("One runtime for functions, triggers and workers. Without a command: run the engine in the foreground.")
    .version(version, "-v, --version", "print the version")
    .helpOption("-h, --help", "print help; also: svc <command> --help")
    // Options behind a command belong to that command: both `svc` and its commands have --config.
    .enablePositionalOptions()
    .showSuggestionAfterError();
  configureEngineCommand(program, shell);
  for (const command of commands) program.addCommand(command(shell));
  program.addCommand(completeCommand(shell), { hidden: true });
  adopt(program, shell);
  return program;
}

/** Output and exits of commander, for the program and every command below it. */
function adopt(command: Command, shell: Shell): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => shell.out(text),
    writeErr: (text) => shell.note(text),
    getOutHelpWidth: () => shell.outColumns ?? 100,
    getErrHelpWidth: () => shell.noteColumns ?? 100,
    getOutHasColors: () => false,
    getErrHasColors: () => false,
    outputError: (text) => {
      sayBehind(shell, shell.paint.red("error:"), text.replace(/^error: /, "").trimEnd());
      say(shell, `See: ${pathOf(command)} --help`);
    },
  });
  // Names alone: what each takes stands in its own help, and leaves the summaries no room here. Words stay whole at 80 columns.
  command.configureHelp({ subcommandTerm: (child) => child.name(), minWidthToWrap: LEAST_HELP_WIDTH });
  refuseUnknown(command);
  for (const child of command.commands) adopt(child, shell);
}
