import { Command } from "commander";
import type { Shell } from "../shell.ts";
import { queueDiscardCommand } from "./queue-discard.ts";
import { queueListCommand } from "./queue-list.ts";
import { queuePauseCommand, queueResumeCommand } from "./queue-pause.ts";
import { queuePeekCommand } from "./queue-peek.ts";
import { queuePurgeCommand } from "./queue-purge.ts";
import { queueRedriveCommand } from "./queue-redrive.ts";
import { queueWatchCommand } from "./queue-watch.ts";

/** `svc queue`: works on the queues of svc-queue. */
export function queueCommand(shell: Shell): Command {
  return new Command("queue")
    .summary("inspect and repair queues")
    .description(
      "List or watch the queues of svc-queue and their jobs, pause and resume a queue, retry or delete dead-letter jobs, or purge a queue. `svc trigger FUNCTION --enqueue QUEUE` adds a job.",
    )
    .addCommand(queueListCommand(shell))
    .addCommand(queuePeekCommand(shell))
    .addCommand(queueWatchCommand(shell))
    .addCommand(queuePauseCommand(shell))
    .addCommand(queueResumeCommand(shell))
    .addCommand(queueRedriveCommand(shell))
    .addCommand(queueDiscardCommand(shell))
    .addCommand(queuePurgeCommand(shell))
    .addHelpText(
      "after",
      "\nExamples:\n  svc queue list\n  svc queue peek default --state dead\n  svc queue redrive default\n",
    );
}
