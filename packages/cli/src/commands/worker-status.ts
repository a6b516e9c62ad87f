import { Command } from "commander";
import { askAllEngines } from "../engine/cluster-engines.ts";
import { listTriggers } from "../engine/listings.ts";
import { usageFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { outPaint } from "../terminal/colors.ts";
import { watchPage } from "../terminal/live-screen.ts";
import { type EngineCalls, fullName, workerStatus } from "../workers/worker-functions.ts";
import { readLogs } from "../workers/worker-logs.ts";
import { type WorkerStatus, workerPage } from "../workers/worker-page.ts";
import { allOptions, type EngineOptions, jsonOption, withEngineOptions, withTail } from "./options.ts";

/** Number of output lines that the engine keeps in memory for `--json`. */
const MAX_KEPT = 200;
/** Timeout of one poll, in milliseconds. After it, the engine is shown as not responding. */
const POLL_TIMEOUT_MS = 5_000;

interface StatusOptions extends EngineOptions {
  readonly tail: number;
  readonly watch?: true;
  readonly json?: true;
}

/** `svc worker status`: shows everything about one worker. */
export function workerStatusCommand(shell: Shell): Command {
  const command = withTail(
    new Command("status")
      .summary("show the status of a worker and its last output")
      .description(
        "Show the status of a worker: its state with the reason, its last exit, its processes with CPU and memory, its functions and their triggers, its log file and the last lines of output.",
      )
      .argument("<name>", "name of the worker, as shown by `svc worker list`")
      .option("-w, --watch", "update every second until Ctrl-C; needs a terminal"),
    "lines of output",
    10,
  )
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExamples:\n  svc worker status math-worker\n  svc worker status math-worker --watch\n  svc worker status math-worker --json | jq -r .state\n",
    );
  return withEngineOptions(command).action((name: string, own: StatusOptions) => {
    const options = allOptions(own, command);
    if (options.watch && options.json) throw usageFailure("--watch and --json cannot be used together.");
    if (options.watch && shell.outColumns === undefined)
      throw usageFailure("--watch needs a terminal; to follow the output, use: svc worker logs --follow");
    const question = { name: fullName(name), tail: options.tail };
    return askAllEngines(shell, { command, options, access: "reads" }, async (engine) => {
      if (options.watch)
        return await watchPage(shell, async () =>
          workerPage(await readStatus(engine, question), outPaint(shell), shell.outColumns),
        );
      const status = await readStatus(engine, question);
      if (options.json) shell.out(`${JSON.stringify({ ...status.report, triggers: status.triggers })}\n`);
      else shell.out(`${workerPage(status, outPaint(shell), shell.outColumns).join("\n")}\n`);
    });
  });
}

interface Question {
  readonly name: string;
  readonly tail: number;
}

async function readStatus(engine: EngineCalls, { name, tail }: Question): Promise<WorkerStatus> {
  const report = await workerStatus(engine, name, { tail: Math.min(tail, MAX_KEPT), timeoutMs: POLL_TIMEOUT_MS });
  const [triggers, lines] = await Promise.all([
    listTriggers(engine, { include_internal: true }),
    report.log_file === null || tail === 0 ? [] : readLogs(engine, name, { tail }).then((page) => page.lines),
  ]);
  return {
    report,
    lines,
    tail,
    triggers: triggers.filter(({ function_id }) => report.functions.includes(function_id)),
  };
}
