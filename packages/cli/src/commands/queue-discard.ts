import { Command } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { withQueue } from "../queues/queues.ts";
import type { Shell } from "../shell.ts";
import { confirm } from "../terminal/confirm.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

interface DiscardOptions extends EngineOptions {
  readonly yes?: true;
  readonly json?: true;
}

/** `svc queue discard`: deletes dead-letter jobs. */
export function queueDiscardCommand(shell: Shell): Command {
  const command = new Command("discard")
    .summary("delete dead-letter jobs")
    .description(
      "Delete dead-letter jobs of a queue, all of the given ones or none. Asks for confirmation; without a terminal --yes is required.",
    )
    .argument("<queue>", "queue whose dead-letter jobs to delete")
    .argument("<jobs...>", "ids of the jobs, as shown by `svc queue peek QUEUE --state dead`")
    .option("-y, --yes", "do not ask for confirmation")
    .addOption(jsonOption("print the number of deleted jobs as JSON"))
    .addHelpText(
      "after",
      "\nExamples:\n  svc queue discard default 0197a3c2-5b1e-4b0e-9d8f-2f6d1c0a9b7e\n  svc queue discard default 0197a3c2-5b1e-4b0e-9d8f-2f6d1c0a9b7e --yes\n",
    );
  return withEngineOptions(command).action((queue: string, jobs: readonly string[], own: DiscardOptions) =>
    discard(shell, command, { queue, jobs, options: allOptions(own, command) }),
  );
}

interface Discard {
  readonly queue: string;
  readonly jobs: readonly string[];
  readonly options: DiscardOptions;
}

async function discard(shell: Shell, command: Command, { queue, jobs, options }: Discard): Promise<void> {
  const shown = (count: number): string => `${count} dead-letter job${count === 1 ? "" : "s"}`;
  await confirm(shell, `Delete ${shown(jobs.length)} from ${queue}?`, options);
  const { discarded } = await askEngine(shell, { command, options, access: "changes" }, (engine) =>
    withQueue(engine, queue, () =>
      engine.call<{ readonly discarded: number }>({
        function_id: "queue::discard",
        payload: { queue, job_ids: jobs },
      }),
    ),
  );
  if (options.json) shell.out(`${JSON.stringify({ queue, discarded })}\n`);
  shell.note(`${shell.paint.green("Deleted")} ${shown(discarded)} from ${queue}\n`);
}
