import { Command } from "commander";
import type { Shell } from "../shell.ts";
import { queueListCommand } from "./queue-list.ts";
import { queuePeekCommand } from "./queue-peek.ts";
import { queuePurgeCommand } from "./queue-purge.ts";
import { queueRedriveCommand } from "./queue-redrive.ts";

/** `svc queue`: works on the queues of svc-queue. */
export function queueCommand(shell: Shell): Command {
  return new Command("queue")
    .summary("inspect and repair queues")
    .description(
      "List the queues of svc-queue and their jobs, retry dead-letter jobs, or purge a queue. `svc trigger FUNCTION --enqueue QUEUE` adds a job.",
    )
    .addCommand(queueListCommand(shell))
    .addCommand(queuePeekCommand(shell))
    .addCommand(queueRedriveCommand(shell))
    .addCommand(queuePurgeCommand(shell))
    .addHelpText(
      "after",
      "\nExamples:\n  svc queue list\n  svc queue peek default --state dead\n  svc queue redrive default\n",
    );
}
