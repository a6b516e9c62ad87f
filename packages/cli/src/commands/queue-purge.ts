import type { Worker } from "@svc-runtime/sdk";
import { Command } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { type QueueCounts, withQueue } from "../queues/queues.ts";
import type { Shell } from "../shell.ts";
import { confirm } from "../terminal/confirm.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface PurgeOptions extends EngineOptions {
  readonly yes?: true;
  readonly json?: true;
}

/** `svc queue purge`: deletes the waiting jobs of a queue. */
export function queuePurgeCommand(shell: Shell): Command {
  const command = new Command("purge")
    .summary("delete all waiting jobs of a queue")
    .description(
      "Delete all waiting and delayed jobs of a queue. Running jobs continue, and dead-letter jobs stay. Asks for confirmation; without a terminal --yes is required.",
    )
    .argument("<queue>", "queue to purge")
    .option("-y, --yes", "do not ask for confirmation")
    .addOption(jsonOption("print the number of deleted jobs as JSON"))
    .addHelpText("after", "\nExamples:\n  svc queue purge default\n  svc queue purge default --yes\n");
  return withEngineOptions(command).action((queue: string, own: PurgeOptions) =>
    purge(shell, command, queue, allOptions(own, command)),
  );
}

async function purge(shell: Shell, command: Command, queue: string, options: PurgeOptions): Promise<void> {
  const purged = await askEngine(shell, { command, options, access: "changes" }, (engine) =>
    withQueue(engine, queue, () =>
      purgeWaiting(engine, queue, (jobs) =>
        confirm(shell, `Delete ${jobs} job${jobs === 1 ? "" : "s"} from ${queue}?`, options),
      ),
    ),
  );
  if (options.json) shell.out(`${JSON.stringify({ queue, purged })}\n`);
  shell.note(
    purged === 0
      ? `${queue} has no waiting jobs.\n`
      : `${shell.paint.green("Deleted")} ${purged} job${purged === 1 ? "" : "s"} from ${queue}\n`,
  );
}

/**
 * Deletes the waiting jobs after the user has confirmed. Deletes nothing if no job waits, because the user would not
 * have confirmed a job that arrives later.
 */
export async function purgeWaiting(
  engine: Pick<Worker, "call">,
  queue: string,
  agreed: (jobs: number) => Promise<void>,
): Promise<number> {
  const { waiting, delayed } = await engine.call<QueueCounts>({ function_id: "queue::stats", payload: { queue } });
  if (waiting + delayed === 0) return 0;
  await agreed(waiting + delayed);
  const { purged } = await engine.call<{ readonly purged: number }>({
    function_id: "queue::purge",
    payload: { queue },
  });
  return purged;
}
