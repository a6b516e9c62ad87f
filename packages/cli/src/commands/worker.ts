import { Command } from "commander";
import type { Shell } from "../shell.ts";
import { workerAddCommand } from "./worker-add.ts";
import { workerInspectCommand } from "./worker-inspect.ts";
import { workerListCommand } from "./worker-list.ts";
import { workerLogsCommand } from "./worker-logs.ts";
import { workerRemoveCommand } from "./worker-remove.ts";
import { workerRestartCommand } from "./worker-restart.ts";
import { workerStartCommand } from "./worker-start.ts";
import { workerStatusCommand } from "./worker-status.ts";
import { workerStopCommand } from "./worker-stop.ts";
import { workerUpdateCommand } from "./worker-update.ts";

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

/** `svc worker`: the workers of a running engine. */
export function workerCommand(shell: Shell): Command {
  const command = new Command("worker")
    .summary("add, remove, see and steer workers")
    .description("Add and remove the workers of an engine, see how they are, and steer them.")
    .addHelpText(
      "after",
      "\nExamples:\n  svc worker add ./workers/math-worker\n  svc worker add svc-state\n  svc worker list\n  svc worker status math-worker --watch\n  svc worker logs math-worker --follow\n",
    );
  for (const make of COMMANDS) command.addCommand(make(shell));
  return command;
}
