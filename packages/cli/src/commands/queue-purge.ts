import type { Worker } from "@svc/sdk";
import { Command } from "commander";
import { confirm } from "../confirm.ts";
import { askEngine } from "../engine-request.ts";
import { onQueue, type QueueCounts } from "../queue-names.ts";
import type { Shell } from "../shell.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface PurgeOptions extends EngineOptions {
  readonly yes?: true;
  readonly json?: true;
}

/** `svc queue purge`: empties a queue. */
export function queuePurgeCommand(shell: Shell): Command {
  const command = new Command("purge")
    .summary("take out all jobs of a queue that wait")
    .description(
      "Take out all jobs of a queue that wait or are delayed. Those that run go on, and dead letters stay. It asks first; without a terminal --yes is required.",
    )
    .argument("<queue>", "queue to empty")
    .option("-y, --yes", "do not ask")
    .addOption(jsonOption("print how many were taken out as JSON"))
    .addHelpText("after", "\nExamples:\n  svc queue purge default\n  svc queue purge default --yes\n");
  return withEngineOptions(command).action((queue: string, own: PurgeOptions) => purge(shell, command, queue, allOptions(own, command)));
}

async function purge(shell: Shell, command: Command, queue: string, options: PurgeOptions): Promise<void> {
  const purged = await askEngine(shell, { command, options, access: "changes" }, (engine) =>
    onQueue(engine, queue, () =>
      takeOut(engine, queue, (jobs) => confirm(shell, `Take ${jobs} job${jobs === 1 ? "" : "s"} out of ${queue} for good?`, options)),
    ),
  );
  if (options.json) shell.out(`${JSON.stringify({ queue, purged })}\n`);
  shell.note(purged === 0 ? `No job of ${queue} waits.\n` : `${shell.paint.green("Took out")} ${purged} job${purged === 1 ? "" : "s"} of ${queue}\n`);
}

/** Where none waits it ends at that: what comes a moment later was not asked about. */
export async function takeOut(engine: Pick<Worker, "call">, queue: string, agreed: (jobs: number) => Promise<void>): Promise<number> {
  const { waiting, delayed } = await engine.call<QueueCounts>({ function_id: "queue::stats", payload: { queue } });
  if (waiting + delayed === 0) return 0;
  await agreed(waiting + delayed);
  const { purged } = await engine.call<{ readonly purged: number }>({ function_id: "queue::purge", payload: { queue } });
  return purged;
}
