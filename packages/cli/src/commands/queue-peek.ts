import type { ListedJobState } from "@svc-runtime/protocol/listings";
import { Command, Option } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { jobTable, readJobs } from "../queues/job-table.ts";
import { withQueue } from "../queues/queues.ts";
import type { Shell } from "../shell.ts";
import { formatResult } from "../terminal/json-format.ts";
import { allOptions, type EngineOptions, jsonOption, limitOption, withEngineOptions } from "./options.ts";

const STATES: readonly ListedJobState[] = ["waiting", "active", "delayed", "dead", "done"];

interface PeekOptions extends EngineOptions {
  readonly state: ListedJobState;
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: true;
}

/** `svc queue peek`: shows jobs of a queue without removing them. */
export function queuePeekCommand(shell: Shell): Command {
  const command = new Command("peek")
    .summary("show jobs of a queue")
    .description(
      "Show the jobs of a queue in one state with their data: for waiting ones also why no worker can run them, for running ones their progress, for dead ones the error, for done ones the result. Secrets are masked. No job is removed.",
    )
    .argument("<queue>", "queue to read")
    .addOption(new Option("--state <state>", "state of the jobs").choices(STATES).default("waiting"))
    .addOption(limitOption("jobs", 20))
    .option("--cursor <cursor>", "where to continue: the cursor at the end of the previous page")
    .addOption(jsonOption("print JSON with all fields of each job and exact numbers"))
    .addHelpText(
      "after",
      "\nExamples:\n  svc queue peek default\n  svc queue peek default --state done\n  svc queue peek default --state dead --json | jq '.jobs[].failures[-1]'\n",
    );
  return withEngineOptions(command).action((queue: string, own: PeekOptions) =>
    peek(shell, command, queue, allOptions(own, command)),
  );
}

async function peek(shell: Shell, command: Command, queue: string, options: PeekOptions): Promise<void> {
  const { state, limit, cursor } = options;
  const page = await askEngine(shell, { command, options, access: "reads" }, (engine) =>
    withQueue(engine, queue, () =>
      engine.callJson({ function_id: "queue::peek", payload: JSON.stringify({ queue, state, limit, cursor }) }),
    ),
  );
  if (options.json) shell.out(`${formatResult(page, shell.outColumns)}\n`);
  else print(shell, page, { queue, state });
}

function print(
  shell: Shell,
  json: string,
  { queue, state }: { readonly queue: string; readonly state: PeekOptions["state"] },
): void {
  const { jobs, cursor } = readJobs(json);
  if (jobs.length === 0) {
    shell.note(`${queue} has no ${state} jobs.\n`);
    return;
  }
  shell.out(jobTable(jobs, state, shell.outColumns));
  if (cursor !== null) shell.note(shell.paint.dim(`Next page: --cursor ${cursor}\n`));
}
