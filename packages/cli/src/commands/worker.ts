import { Command } from "commander";
import type { Shell } from "../shell.ts";
import { workerAddCommand } from "./worker-add.ts";
import { workerListCommand } from "./worker-list.ts";
import { workerRemoveCommand } from "./worker-remove.ts";
import { workerRestartCommand } from "./worker-restart.ts";

/** `svc worker`: the workers of a running engine. */
export function workerCommand(shell: Shell): Command {
  return new Command("worker")
    .summary("add, remove, see and steer workers")
    .description("Add and remove the workers of an engine, see how they are, and steer them.")
    .addCommand(workerAddCommand(shell))
    .addCommand(workerRemoveCommand(shell))
    .addCommand(workerListCommand(shell))
    .addCommand(workerRestartCommand(shell))
    .addHelpText("after", "\nExamples:\n  svc worker add ./workers/math-worker\n  svc worker add svc-state\n  svc worker list\n");
}
