import { Command } from "commander";
import { askEngine } from "../engine-request.ts";
import type { Shell } from "../shell.ts";
import type { Steering } from "../worker-functions.ts";
import { requireNames, steerWorkers } from "../worker-steering.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface SteeringOptions extends EngineOptions {
  readonly all?: true;
  readonly wait: boolean;
  readonly json?: true;
}

export interface SteeringTexts {
  readonly summary: string;
  readonly description: string;
  /** Of `--no-wait`. */
  readonly noWait: string;
  readonly examples: readonly string[];
}

/** A command that does something with workers by their names: start, stop, restart, update. */
export function steeringCommand(shell: Shell, steering: Steering, { summary, description, noWait, examples }: SteeringTexts): Command {
  const command = new Command(steering)
    .summary(summary)
    .description(description)
    .argument("[name...]", "names of workers, as `svc worker list` shows them")
    .option("--all", "every worker that the engine runs")
    .option("--no-wait", noWait)
    .addOption(jsonOption("print how the workers are then as JSON"))
    .addHelpText("after", `\nExamples:\n${examples.map((example) => `  ${example}\n`).join("")}`);
  return withEngineOptions(command).action((names: readonly string[], own: SteeringOptions) => {
    const options = allOptions(own, command);
    const { all = false, wait, json = false } = options;
    requireNames(names, all);
    return askEngine(shell, { command, options, access: "changes" }, (engine) => steerWorkers(shell, engine, { steering, names, all, wait, json }));
  });
}
