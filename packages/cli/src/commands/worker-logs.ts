import { Command, Option } from "commander";
import { askAllEngines } from "../engine/cluster-engines.ts";
import { usageFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { abortAtStop } from "../stop-requests.ts";
import { outPaint } from "../terminal/colors.ts";
import { say } from "../terminal/notes.ts";
import { dayAndTime } from "../terminal/times.ts";
import { MergedLines } from "../workers/merged-lines.ts";
import { processOnly } from "../workers/process-only.ts";
import { type EngineCalls, fullName, listWorkers } from "../workers/worker-functions.ts";
import { shownLine, writerOf } from "../workers/worker-lines.ts";
import { followLogs, type LogStream, readLogs, type WorkerLine } from "../workers/worker-logs.ts";
import { Prefixes } from "../workers/worker-prefix.ts";
import {
  allOptions,
  type EngineOptions,
  jsonOption,
  parseSince,
  quietIdsOption,
  withEngineOptions,
  withTail,
} from "./options.ts";

interface LogsOptions extends EngineOptions {
  readonly follow?: true;
  readonly since?: number;
  readonly tail: number;
  readonly stream?: LogStream;
  readonly quietIds?: true;
  readonly json?: true;
}

/** `svc worker logs`: shows the standard output and standard error of workers. */
export function workerLogsCommand(shell: Shell): Command {
  const command = withTail(
    new Command("logs")
      .summary("show the output of workers")
      .description(
        "Show the last lines of output of workers that the engine runs. Output of several workers is merged by time and prefixed with their names. Without a name, all workers are shown. On a terminal, ! marks standard error. " +
          "For what workers and modules log through the engine, use `svc logs`.",
      )
      .argument("[name...]", "names of workers, as shown by `svc worker list`")
      .option("-f, --follow", "print new lines until Ctrl-C, also after restarts of worker and engine")
      .option(
        "--since <when>",
        "only lines since a duration ago, e.g. 10m, or a time, e.g. 2026-01-31T10:00:00Z",
        parseSince,
      ),
    "lines of each worker",
    100,
  )
    .addOption(
      new Option(
        "--stream <stream>",
        "only one source: standard output, standard error, output of the install, or messages of the engine about the worker",
      ).choices(["out", "err", "install", "svc"]),
    )
    .addOption(quietIdsOption())
    .addOption(jsonOption("print JSON; with --follow one object per line"))
    .addHelpText(
      "after",
      "\nExamples:\n  svc worker logs math-worker\n  svc worker logs math-worker caller-worker --follow\n  svc worker logs math-worker --since 10m --stream err\n  svc worker logs math-worker --tail 5 --json\n",
    );
  return withEngineOptions(command).action((names: readonly string[], own: LogsOptions) => {
    const options = allOptions(own, command);
    return askAllEngines(shell, { command, options, access: "reads" }, (engine) =>
      showLogs(shell, engine, { names, options }),
    );
  });
}

async function showLogs(
  shell: Shell,
  engine: EngineCalls,
  { names, options }: { readonly names: readonly string[]; readonly options: LogsOptions },
): Promise<void> {
  const chosen = names.length === 0 ? await writers(engine) : [...new Set(names.map(fullName))];
  if (chosen.length === 0)
    throw usageFailure("The engine runs no workers. Add one with: svc worker add ./workers/math-worker");
  const { tail, since, stream, follow, json } = options;
  const first = await Promise.all(
    chosen.map(async (name) => {
      const asked = readLogs(engine, name, { tail, sinceMs: since, stream });
      return {
        name,
        ...(await processOnly(engine, name, {
          asked,
          lacks: "output",
          instead: "Its log entries are in the engine's log: svc logs",
        })),
      };
    }),
  );
  const lines = first.flatMap((one) => one.lines).sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  if (json && !follow) {
    shell.out(
      `${JSON.stringify({ lines, log_files: Object.fromEntries(first.map(({ name, logFile }) => [name, logFile])) })}\n`,
    );
    return;
  }
  const show = json
    ? (line: WorkerLine): void => shell.out(`${JSON.stringify(line)}\n`)
    : linesFor(shell, { names: chosen, first: lines, quietIds: options.quietIds ?? false });
  for (const line of lines) show(line);
  if (follow) await followAll(shell, engine, { from: first, stream, show });
  else if (lines.length === 0)
    shell.note(`No ${since === undefined && stream === undefined ? "output yet" : "matching output"}.\n`);
}

async function writers(engine: EngineCalls): Promise<readonly string[]> {
  return (await listWorkers(engine))
    .filter(({ kind }) => kind === "local" || kind === "command")
    .map(({ name }) => name);
}

/**
 * Returns a function that prints a line. If all lines are from a single process, a line begins with its time. Otherwise
 * it begins with the worker's name.
 */
function linesFor(
  shell: Shell,
  {
    names,
    first,
    quietIds,
  }: { readonly names: readonly string[]; readonly first: readonly WorkerLine[]; readonly quietIds: boolean },
): (line: WorkerLine) => void {
  const paint = outPaint(shell);
  const prefixes = new Prefixes(paint, { names: [...names, ...first.map(writerOf)] });
  const isTerminal = shell.outColumns !== undefined;
  let needsName = names.length > 1 || first.some(({ replica }) => replica !== null);
  return (line) => {
    const { bar, time, text } = shownLine(line, { paint, quietIds });
    const shownTime = paint.dim(isTerminal ? dayAndTime(Date.parse(time)) : time);
    needsName ||= line.replica !== null;
    shell.out(`${needsName ? `${prefixes.of(writerOf(line), bar)}${shownTime}` : `${shownTime} ${bar}`} ${text}\n`);
  };
}

interface FollowedFrom {
  readonly from: readonly { readonly name: string; readonly cursor: string }[];
  readonly stream: LogStream | undefined;
  readonly show: (line: WorkerLine) => void;
}

/** Follows the logs until the user stops the command, or until all workers are removed from the config file. */
async function followAll(shell: Shell, engine: EngineCalls, { from, stream, show }: FollowedFrom): Promise<void> {
  const stop = abortAtStop(shell);
  const merged = new MergedLines();
  const onLine =
    from.length === 1
      ? show
      : (line: WorkerLine): void =>
          merged.add({ source: line.worker, timeMs: Date.parse(line.time), write: () => show(line) });
  const disconnected = new Set<string>();
  const follow = async (name: string, cursor: string): Promise<void> => {
    const onLost = (): void => {
      if (disconnected.size === 0) say(shell, "The engine does not respond; reconnecting. Press Ctrl-C to stop.");
      disconnected.add(name);
    };
    const onBack = (): void => {
      disconnected.delete(name);
      if (disconnected.size === 0) shell.note("Reconnected to the engine.\n");
    };
    const onGap = (): void =>
      say(
        shell,
        `Lines of ${name} are missing here: they arrived faster than they could be shown, and the log was rotated.`,
      );
    const end = await followLogs(engine, name, {
      cursor,
      stream,
      signal: stop.signal,
      onLine,
      onGap,
      onLost,
      onBack,
    });
    if (end === "gone") shell.note(`Worker ${name} is no longer in the config file.\n`);
  };
  try {
    await Promise.all(from.map(({ name, cursor }) => follow(name, cursor)));
  } finally {
    merged.flush();
    stop.end();
  }
}
