import { setTimeout as pause } from "node:timers/promises";
import type { Worker } from "@svc/sdk";
import { Command } from "commander";
import { isAway } from "../engine-away.ts";
import { askEngine } from "../engine-request.ts";
import { usageFailure } from "../exit-codes.ts";
import { listTriggers } from "../listings.ts";
import { LiveScreen } from "../live-screen.ts";
import type { Shell } from "../shell.ts";
import { outPaint } from "../terminal-text.ts";
import { fullName, workerStatus } from "../worker-functions.ts";
import { readLogs } from "../worker-logs.ts";
import { type WorkerStanding, workerPage } from "../worker-page.ts";
import { allOptions, type EngineOptions, jsonOption, wholeNumber, withEngineOptions } from "./options.ts";

/** As many lines of its output as the engine keeps at hand. */
const MAX_TAIL = 200;
const DEFAULT_TAIL = 10;
const LOOK_EVERY_MS = 1_000;
/** An engine that is away is said to be so, and not waited for in silence. */
const LOOK_TIMEOUT_MS = 5_000;

const FOOT = "Every second; Ctrl-C ends.";

interface StatusOptions extends EngineOptions {
  readonly tail: number;
  readonly watch?: true;
  readonly json?: true;
}

/** `svc worker status`: all about one worker. */
export function workerStatusCommand(shell: Shell): Command {
  const command = new Command("status")
    .summary("show how a worker is, with its last output")
    .description(
      "Show how a worker is: its state and why, how it ended last, its processes and what they use, its functions and their triggers, its log file and the last lines of its output.",
    )
    .argument("<name>", "name of the worker, as `svc worker list` shows it")
    .option("-n, --tail <n>", `how many of the last lines of its output, 0 to ${MAX_TAIL}`, wholeNumber(0, MAX_TAIL), DEFAULT_TAIL)
    .option("-w, --watch", "show it anew every second until Ctrl-C; on a terminal")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExamples:\n  svc worker status math-worker\n  svc worker status math-worker --watch\n  svc worker status math-worker --json | jq -r .state\n",
    );
  return withEngineOptions(command).action((name: string, own: StatusOptions) => {
    const options = allOptions(own, command);
    if (options.watch && options.json) throw usageFailure("--watch is for people and --json for programs; they do not go together.");
    if (options.watch && shell.outColumns === undefined)
      throw usageFailure("--watch needs a terminal; to follow the output there is: svc worker logs --follow");
    const question = { name: fullName(name), tail: options.tail };
    return askEngine(shell, { command, options, access: "reads" }, async (engine) => {
      if (options.watch) return await watch(shell, engine, question);
      const standing = await look(engine, question);
      if (options.json) shell.out(`${JSON.stringify({ ...standing.report, triggers: standing.triggers })}\n`);
      else shell.out(`${workerPage(standing, outPaint(shell), shell.outColumns).join("\n")}\n`);
    });
  });
}

interface Question {
  readonly name: string;
  readonly tail: number;
}

async function look(engine: Worker, { name, tail }: Question): Promise<WorkerStanding> {
  const report = await workerStatus(engine, name, { tail, timeoutMs: LOOK_TIMEOUT_MS });
  const [triggers, lines] = await Promise.all([
    listTriggers(engine, { include_internal: true }),
    report.log_file === null || tail === 0 ? [] : readLogs(engine, name, { tail }).then((page) => page.lines),
  ]);
  return { report, lines, tail, triggers: triggers.filter(({ function_id }) => report.functions.includes(function_id)) };
}

/** Until the user wants an end. What was seen last stays on the terminal. */
async function watch(shell: Shell, engine: Worker, question: Question): Promise<void> {
  const paint = outPaint(shell);
  let page = workerPage(await look(engine, question), paint, shell.outColumns);
  const stop = new AbortController();
  const undo = shell.onStopSignal(() => stop.abort());
  const screen = new LiveScreen(shell);
  let foot = FOOT;
  try {
    while (!stop.signal.aborted) {
      screen.show(page, paint.dim(foot));
      await pause(LOOK_EVERY_MS, undefined, { signal: stop.signal }).catch(() => {});
      try {
        page = workerPage(await look(engine, question), paint, shell.outColumns);
        foot = FOOT;
      } catch (error) {
        if (!isAway(error)) throw error;
        foot = "The engine does not answer; so it was before. Ctrl-C ends.";
      }
    }
  } finally {
    screen.end();
    undo();
  }
  shell.out(`${page.join("\n")}\n`);
}
