import { elementTexts, memberTexts } from "@svc/protocol/json-text";
import type { JobState, QueueJob } from "@svc/protocol/listings";
import { Command, Option } from "commander";
import { askEngine } from "../engine-request.ts";
import { formatJson, formatResult } from "../json-format.ts";
import { withQueue } from "../queue-names.ts";
import type { Shell } from "../shell.ts";
import { table } from "../table.ts";
import { ago } from "../times.ts";
import { allOptions, type EngineOptions, jsonOption, limitOption, withEngineOptions } from "./options.ts";

interface PeekOptions extends EngineOptions {
  readonly state: JobState;
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: true;
}

/** `svc queue peek`: shows jobs of a queue without removing them. */
export function queuePeekCommand(shell: Shell): Command {
  const command = new Command("peek")
    .summary("show jobs of a queue")
    .description(
      "Show the jobs of a queue in one state with their data, and for dead ones the error. No job is removed.",
    )
    .argument("<queue>", "queue to read")
    .addOption(
      new Option("--state <state>", "state of the jobs")
        .choices(["waiting", "active", "delayed", "dead"])
        .default("waiting"),
    )
    .addOption(limitOption("jobs", 20))
    .option("--cursor <cursor>", "where to continue: the cursor at the end of the previous page")
    .addOption(jsonOption("print JSON with all fields of each job and exact numbers"))
    .addHelpText(
      "after",
      "\nExamples:\n  svc queue peek default\n  svc queue peek default --state dead\n  svc queue peek default --state dead --json | jq '.jobs[].failures[-1]'\n",
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
  const { jobs, cursor } = JSON.parse(json) as { readonly jobs: readonly QueueJob[]; readonly cursor: string | null };
  if (jobs.length === 0) {
    shell.note(`${queue} has no ${state} jobs.\n`);
    return;
  }
  // Reads the data from the text, because JSON.parse would round large numbers.
  const data = elementTexts(memberTexts(json).get("jobs") ?? "[]").map((job) =>
    formatJson(memberTexts(job).get("data") ?? "", "line"),
  );
  const isDead = state === "dead";
  const rows = jobs.map((job, index) => [
    job.job_id,
    job.function_id ?? "(triggers)",
    `${job.attempts}/${job.max_attempts}`,
    ago(Date.parse(job.failed_at ?? job.run_at ?? job.created_at)),
    ...(isDead ? [job.failures.at(-1)?.message ?? ""] : []),
    data[index] ?? "",
  ]);
  const when = isDead ? "DIED" : state === "delayed" ? "RUNS" : "ADDED";
  const heads = ["JOB", "FUNCTION", "FAILED", when, ...(isDead ? ["ERROR"] : []), "DATA"];
  shell.out(table(heads, rows, { columns: shell.outColumns, whole: ["JOB", "FUNCTION"], below: "ERROR" }));
  if (cursor !== null) shell.note(shell.paint.dim(`Next page: --cursor ${cursor}\n`));
}
