import { setTimeout as pause } from "node:timers/promises";
import type { Worker } from "@svc/sdk";
import { Command } from "commander";
import { askEngine } from "../engine-request.ts";
import { isTransient } from "../engine-session.ts";
import { usageFailure } from "../exit-codes.ts";
import { listTriggers } from "../listings.ts";
import { LiveScreen } from "../live-screen.ts";
import type { Shell } from "../shell.ts";
import { outPaint } from "../terminal-text.ts";
import { fullName, workerStatus } from "../worker-functions.ts";
import { readLogs } from "../worker-logs.ts";
import { type WorkerStatus, workerPage } from "../worker-page.ts";
import { allOptions, type EngineOptions, jsonOption, wholeNumber, withEngineOptions } from "./options.ts";

/** Number of output lines that the engine keeps in memory. */
const MAX_TAIL = 200;
const DEFAULT_TAIL = 10;
const POLL_INTERVAL_MS = 1_000;
/** Timeout of one poll, after which the engine is shown as not responding. */
const POLL_TIMEOUT_MS = 5_000;

const FOOTER = "Updated every second; press Ctrl-C to stop.";

interface StatusOptions extends EngineOptions {
  readonly tail: number;
  readonly watch?: true;
  readonly json?: true;
}

/** `svc worker status`: shows all about one worker. */
export function workerStatusCommand(shell: Shell): Command {
  const command = new Command("status")
    .summary("show the status of a worker and its last output")
    .description(
      "Show the status of a worker: its state with the reason, its last exit, its processes with CPU and memory, its functions and their triggers, its log file and the last lines of output.",
    )
    .argument("<name>", "name of the worker, as shown by `svc worker list`")
    .option("-n, --tail <n>", `number of lines of output, 0 to ${MAX_TAIL}`, wholeNumber(0, MAX_TAIL), DEFAULT_TAIL)
    .option("-w, --watch", "update every second until Ctrl-C; needs a terminal")
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
    return askEngine(shell, { command, options, access: "reads" }, async (engine) => {
      if (options.watch) return await watch(shell, engine, question);
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

async function readStatus(engine: Worker, { name, tail }: Question): Promise<WorkerStatus> {
  const report = await workerStatus(engine, name, { tail, timeoutMs: POLL_TIMEOUT_MS });
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

/** Polls until the user stops it. The last page stays on the terminal. */
async function watch(shell: Shell, engine: Worker, question: Question): Promise<void> {
  const paint = outPaint(shell);
  let page = workerPage(await readStatus(engine, question), paint, shell.outColumns);
  const stop = new AbortController();
  const undo = shell.onStopSignal(() => stop.abort());
  const screen = new LiveScreen(shell);
  let footer = FOOTER;
  try {
    while (!stop.signal.aborted) {
      screen.show(page, paint.dim(footer));
      await pause(POLL_INTERVAL_MS, undefined, { signal: stop.signal }).catch(() => {});
      try {
        page = workerPage(await readStatus(engine, question), paint, shell.outColumns);
        footer = FOOTER;
      } catch (error) {
        if (!isTransient(error)) throw error;
        footer = "The engine does not respond; showing the last known status. Press Ctrl-C to stop.";
      }
    }
  } finally {
    screen.end();
    undo();
  }
  shell.out(`${page.join("\n")}\n`);
}
