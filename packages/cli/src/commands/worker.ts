import { Command } from "commander";
import type { Shell } from "../shell.ts";
import { workerAddCommand } from "./worker-add.ts";
import { workerRestartCommand, workerStartCommand, workerStopCommand, workerUpdateCommand } from "./worker-control.ts";
import { workerInspectCommand } from "./worker-inspect.ts";
import { workerListCommand } from "./worker-list.ts";
import { workerLogsCommand } from "./worker-logs.ts";
import { workerRemoveCommand } from "./worker-remove.ts";
import { workerStatusCommand } from "./worker-status.ts";

const COMMANDS = [
  workerAddCommand,
  workerRemoveCommand,
  workerListCommand,
  workerStatusCommand,
  workerLogsCommand,
  workerStartCommand,
  workerStopCommand,
  workerRestartCommand,
  workerUpdateCommand,
  workerInspectCommand,
];

/** `svc worker`: manages the workers of a running engine. */
export function workerCommand(shell: Shell): Command {
  const command = new Command("worker")
    .summary("add, remove, inspect and control workers")
    .description("Add and remove the workers of an engine, show their state, and control them.")
    .addHelpText(
      "after",
      "\nExamples:\n  svc worker add ./workers/math-worker\n  svc worker add svc-state\n  svc worker list\n  svc worker status math-worker --watch\n  svc worker logs math-worker --follow\n",
    );
  for (const make of COMMANDS) command.addCommand(make(shell));
  return command;
}
