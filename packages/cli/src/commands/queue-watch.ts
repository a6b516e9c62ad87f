import type { Worker } from "@svc-runtime/sdk";
import { Command } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { usageFailure } from "../exit-codes.ts";
import { jobTable, readJobs } from "../queues/job-table.ts";
import { queueTable } from "../queues/queue-table.ts";
import { listQueues, withQueue } from "../queues/queues.ts";
import type { Shell } from "../shell.ts";
import { watchPage } from "../terminal/live-screen.ts";
import { allOptions, type EngineOptions, withEngineOptions } from "./options.ts";

/** Maximum number of jobs that are shown per state. */
const MAX_JOBS = 100;

/** `svc queue watch`: shows the running and waiting jobs of a queue with their progress until Ctrl-C. */
export function queueWatchCommand(shell: Shell): Command {
  const command = new Command("watch")
    .summary("watch the jobs of a queue and their progress")
    .description(
      "Show the job counts of a queue, its running jobs with the progress that their handlers report, and the jobs that wait, updated every second until Ctrl-C. Needs a terminal.",
    )
    .argument("<queue>", "queue to watch")
    .addHelpText("after", "\nExamples:\n  svc queue watch default\n");
  return withEngineOptions(command).action((queue: string, own: EngineOptions) => {
    if (shell.outColumns === undefined)
      throw usageFailure("svc queue watch needs a terminal; to read the jobs once, use: svc queue peek");
    return askEngine(shell, { command, options: allOptions(own, command), access: "reads" }, (engine) =>
      withQueue(engine, queue, () => watchPage(shell, () => readPage(shell, engine, queue))),
    );
  });
}

async function readPage(shell: Shell, engine: Worker, queue: string): Promise<readonly string[]> {
  const [queues, active, waiting] = await Promise.all([
    listQueues(engine),
    peek(engine, queue, "active"),
    peek(engine, queue, "waiting"),
  ]);
  const tables = [
    queueTable(
      queues.filter((each) => each.queue === queue),
      shell,
    ),
    ...(active.length === 0 ? [] : [jobTable(active, "active", shell.outColumns)]),
    ...(waiting.length === 0 ? [] : [jobTable(waiting, "waiting", shell.outColumns)]),
  ];
  return tables.join("\n").trimEnd().split("\n");
}

async function peek(engine: Worker, queue: string, state: "active" | "waiting") {
  const payload = JSON.stringify({ queue, state, limit: MAX_JOBS });
  return readJobs(await engine.callJson({ function_id: "queue::peek", payload })).jobs;
}
