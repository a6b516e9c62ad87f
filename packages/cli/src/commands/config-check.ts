import { Command } from "commander";
import { CommandFailure, usageFailure } from "../exit-codes.ts";
import { checkConfig, formatFinding, shownPath } from "../project/config-check.ts";
import type { Shell } from "../shell.ts";
import { sayBehind, sayWarning } from "../terminal/notes.ts";
import { configOption } from "./options.ts";

interface CheckOptions {
  readonly config?: string;
  readonly json?: true;
}

/** `svc config check`: reports all problems of a config file. */
export function configCheckCommand(shell: Shell): Command {
  return new Command("check")
    .summary("validate a config file without starting the engine")
    .description(
      'Check a config file and the manifests of its workers as the engine does at startup, and report all problems. Nothing is started or changed. Exits with 1 if there is a problem; warnings do not count. FILE can also be given with --config; the default is "config.yaml".',
    )
    .argument("[file]", "config file to check")
    .addOption(configOption("config file to check"))
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  svc config check\n  svc config check deploy/production.yaml --json\n  svc config check --config deploy/production.yaml\n",
    )
    .action((file: string | undefined, options: CheckOptions, command: Command) =>
      check(shell, chosenFile(file, command.optsWithGlobals<{ config?: string }>().config), options),
    );
}

function chosenFile(file: string | undefined, option: string | undefined): string | undefined {
  if (file !== undefined && option !== undefined && file !== option)
    throw usageFailure(`${file} and --config ${option} name different files; give only one`);
  return file ?? option;
}

async function check(shell: Shell, file: string | undefined, { json }: CheckOptions): Promise<void> {
  const report = await checkConfig(shell, file);
  const { config, problems, warnings } = report;
  const isValid = problems.length === 0;
  if (json) {
    const counts = { modules: config?.modules.length ?? null, local_workers: config?.localWorkers.length ?? null };
    shell.out(`${JSON.stringify({ file: report.file, valid: isValid, problems, warnings, ...counts })}\n`);
  }
  for (const warning of warnings) sayWarning(shell, warning);
  for (const problem of problems) sayBehind(shell, shell.paint.red("problem:"), formatFinding(problem));
  const shown = shownPath(shell, report.file);
  if (!isValid) throw new CommandFailure(`${shown} has ${counted(problems.length, "problem")}.`);
  if (!json && config !== undefined) {
    const commands = config.commands.length === 0 ? [] : [counted(config.commands.length, "command")];
    const parts = [
      counted(config.modules.length, "module"),
      counted(config.localWorkers.length, "local worker"),
      ...commands,
      counted(warnings.length, "warning"),
    ];
    shell.out(`${shown} is ok: ${parts.join(", ")}\n`);
  }
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
