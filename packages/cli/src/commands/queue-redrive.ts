import { Command } from "commander";
import { askEngine, payloadWith } from "../engine/engine-request.ts";
import { type JsonSource, jsonArgument } from "../functions/json-input.ts";
import { withQueue } from "../queues/queues.ts";
import type { Shell } from "../shell.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions } from "./options.ts";

const PAYLOAD: JsonSource = { noun: "payload", example: `--payload='{"to": "ada@example.com"}'` };

interface RedriveOptions extends EngineOptions {
  readonly payload?: string;
  readonly json?: true;
}

/** `svc queue redrive`: moves dead-letter jobs back to their queue. */
export function queueRedriveCommand(shell: Shell): Command {
  const command = new Command("redrive")
    .summary("move dead-letter jobs back to their queue")
    .description(
      "Move dead-letter jobs back to their queue with a full number of attempts: the given jobs, or all. Given jobs are moved all together or not at all.",
    )
    .argument("<queue>", "queue whose dead-letter jobs to move")
    .argument("[jobs...]", "ids of the jobs (default: all dead-letter jobs of the queue)")
    .option("--payload <json>", "new data for the jobs: JSON, @FILE, or - for standard input (default: their own data)")
    .addOption(jsonOption("print the number of moved jobs as JSON"))
    .addHelpText(
      "after",
      '\nExamples:\n  svc queue redrive default\n  svc queue redrive default 0197a3c2-5b1e-4b0e-9d8f-2f6d1c0a9b7e\n  svc queue redrive default 0197a3c2-5b1e-4b0e-9d8f-2f6d1c0a9b7e --payload=\'{"to": "ada@example.com"}\'\n',
    );
  return withEngineOptions(command).action((queue: string, jobs: readonly string[], own: RedriveOptions) =>
    redrive(shell, command, { queue, jobs, options: allOptions(own, command) }),
  );
}

interface Redrive {
  readonly queue: string;
  readonly jobs: readonly string[];
  readonly options: RedriveOptions;
}

async function redrive(shell: Shell, command: Command, { queue, jobs, options }: Redrive): Promise<void> {
  const members = { queue, ...(jobs.length === 0 ? {} : { job_ids: jobs }) };
  const payload =
    options.payload === undefined
      ? JSON.stringify(members)
      : payloadWith(members, { name: "payload", json: await jsonArgument(shell, options.payload, PAYLOAD) });
  const answer = await askEngine(shell, { command, options, access: "changes" }, (engine) =>
    withQueue(engine, queue, () => engine.callJson({ function_id: "queue::redrive", payload })),
  );
  const { redriven } = JSON.parse(answer) as { readonly redriven: number };
  if (options.json) shell.out(`${JSON.stringify({ queue, redriven })}\n`);
  shell.note(
    redriven === 0
      ? `${queue} has no dead-letter jobs.\n`
      : `${shell.paint.green("Moved")} ${redriven} dead-letter job${redriven === 1 ? "" : "s"} back to ${queue}\n`,
  );
}
