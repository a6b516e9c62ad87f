import { Command } from "commander";
import { askAllEngines } from "../engine/cluster-engines.ts";
import type { Shell } from "../shell.ts";
import { controlWorkers, requireNames } from "../workers/control-workers.ts";
import type { WorkerAction } from "../workers/worker-functions.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface ControlOptions extends EngineOptions {
  readonly all?: true;
  readonly wait: boolean;
  readonly json?: true;
}

export interface ControlTexts {
  readonly summary: string;
  readonly description: string;
  /** Description of `--no-wait`. */
  readonly noWait: string;
  readonly examples: readonly string[];
}

/** Creates one of the commands start, stop, restart and update, which take names of workers. */
export function controlCommand(
  shell: Shell,
  action: WorkerAction,
  { summary, description, noWait, examples }: ControlTexts,
): Command {
  const command = new Command(action)
    .summary(summary)
    .description(description)
    .argument("[name...]", "names of workers, as shown by `svc worker list`")
    .option("--all", "all workers that the engine runs")
    .option("--no-wait", noWait)
    .addOption(jsonOption("print the resulting state of the workers as JSON"))
    .addHelpText("after", `\nExamples:\n${examples.map((example) => `  ${example}\n`).join("")}`);
  return withEngineOptions(command).action((names: readonly string[], own: ControlOptions) => {
    const options = allOptions(own, command);
    const { all = false, wait, json = false } = options;
    requireNames(names, all);
    return askAllEngines(shell, { command, options, access: "changes" }, (engine) =>
      controlWorkers(shell, engine, { action, names, all, wait, json }),
    );
  });
}

/** `svc worker start`: starts workers that were stopped or have failed. */
export function workerStartCommand(shell: Shell): Command {
  return controlCommand(shell, "start", {
    summary: "start workers that were stopped or have failed",
    description:
      "Start workers of the engine's config file that were stopped or have failed, without waiting for the next restart of a crash loop, and wait until they are ready. Running workers are not changed.",
    noWait: "do not wait until they are ready",
    examples: ["svc worker start math-worker", "svc worker start math-worker caller-worker", "svc worker start --all"],
  });
}

/** `svc worker stop`: stops workers. They stay in the config file. */
export function workerStopCommand(shell: Shell): Command {
  return controlCommand(shell, "stop", {
    summary: "stop workers without removing them from the config file",
    description:
      "Stop workers of the engine's config file and wait until their processes have exited: they are asked to stop, and killed after 10 seconds. They stay stopped until `svc worker start` or the next start of the engine.",
    noWait: "do not wait until they have stopped",
    examples: ["svc worker stop math-worker", "svc worker stop math-worker caller-worker", "svc worker stop --all"],
  });
}

/** `svc worker restart`: restarts workers of the engine's config file. */
export function workerRestartCommand(shell: Shell): Command {
  return controlCommand(shell, "restart", {
    summary: "restart workers",
    description:
      "Restart workers of the engine's config file, one after another, and wait until each is ready. A worker serves until its new process is ready. It is stopped first if dependencies have to be installed, or if its entry says `overlap: false`. Commands of svc-exec are always stopped first.",
    noWait: "do not wait until they are ready",
    examples: [
      "svc worker restart math-worker",
      "svc worker restart math-worker caller-worker",
      "svc worker restart --all",
    ],
  });
}

/** `svc worker update`: installs dependencies again. */
export function workerUpdateCommand(shell: Shell): Command {
  return controlCommand(shell, "update", {
    summary: "install the dependencies of workers again and restart them",
    description:
      "Install the dependencies of workers again, whether or not they changed, restart the workers and wait until they are ready. A worker whose install fails keeps running unchanged.",
    noWait: "do not wait until they are installed and ready",
    examples: ["svc worker update math-worker", "svc worker update --all"],
  });
}
