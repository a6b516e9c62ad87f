import { LOG_FIELDS, readLogQuery } from "@svc-runtime/protocol/query";
import type { Worker } from "@svc-runtime/sdk";
import { Command, Option } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { filterSuggestion } from "../logs/filter-suggestion.ts";
import { followLogs, type LogQuery, lastLogs } from "../logs/follow-logs.ts";
import { type StoredLog, storedLogLine } from "../logs/stored-log-lines.ts";
import type { Shell } from "../shell.ts";
import { abortAtStop } from "../stop-requests.ts";
import { outPaint } from "../terminal/colors.ts";
import { say, sayNote } from "../terminal/notes.ts";
import { sayMissing } from "../terminal/say-missing.ts";
import { fullTraceId } from "../traces/trace-ids.ts";
import {
  allOptions,
  type EngineOptions,
  jsonOption,
  parseSince,
  parseTraceId,
  repeated,
  withEngineOptions,
  withTail,
} from "./options.ts";
import { queryHelp, queryOption } from "./query-option.ts";

/** Severity numbers of OpenTelemetry, by level. */
const LEVELS: Readonly<Record<string, number>> = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 };

interface LogsOptions extends EngineOptions {
  readonly follow?: true;
  readonly level?: string;
  readonly service?: readonly string[];
  readonly function?: string;
  readonly trace?: string;
  readonly search?: string;
  readonly query?: string;
  readonly since?: number;
  readonly tail: number;
  readonly json?: true;
}

/** `svc logs`: shows logs of workers and the engine. */
export function logsCommand(shell: Shell): Command {
  const command = withTail(
    new Command("logs")
      .summary("show logs of workers and the engine")
      .description(
        "Show the last entries of the log store, oldest first. With --follow, print new entries until Ctrl-C; it reconnects when the engine restarts.",
      )
      .option("-f, --follow", "print new entries as they arrive")
      .addOption(new Option("--level <level>", "only entries of this level or higher").choices(Object.keys(LEVELS)))
      .option("--service <service>", "only entries of this worker; can be repeated", repeated)
      .option("--function <function>", "only entries logged by this function")
      .option("--trace <id>", "only entries of this trace; the first characters of the id are enough", parseTraceId)
      .option("--search <text>", "only entries with this text in their message or attributes")
      .addOption(queryOption("entries", readLogQuery))
      .option("--since <time>", "only entries since a time or a duration ago, e.g. 10m", parseSince),
    "entries",
    100,
  )
    .addOption(jsonOption("print JSON; with --follow one document per line and entry"))
    .addHelpText(
      "after",
      "\nExamples:\n  svc logs\n  svc logs --follow --level warn\n  svc logs --service math-worker --since 10m\n  svc logs --trace 4bf92f35 --json\n  svc logs --query 'level>=warn and (service:api or attr.order_id:7)'\n",
    )
    .addHelpText("after", queryHelp(LOG_FIELDS, "level error or fatal"));
  return withEngineOptions(command).action((own: LogsOptions) => {
    const options = allOptions(own, command);
    return options.follow ? follow(shell, command, options) : list(shell, command, options);
  });
}

async function list(shell: Shell, command: Command, options: LogsOptions): Promise<void> {
  const { logs, missing } = await askEngine(shell, { command, options, access: "reads" }, async (engine) => {
    const found = await lastLogs(engine, await queryOf(engine, options), options.tail);
    if (found.logs.length === 0) say(shell, `No entry matches${(await hintOf(engine, options)) || "."}`);
    return found;
  });
  if (options.json) {
    shell.out(`${JSON.stringify({ logs, missing })}\n`);
    return;
  }
  print(shell, logs);
  sayMissing(shell, missing, "log entries");
}

async function follow(shell: Shell, command: Command, options: LogsOptions): Promise<void> {
  await askEngine(shell, { command, options, access: "reads" }, async (engine) => {
    const hint = await hintOf(engine, options);
    if (hint !== "") sayNote(shell, `no function or worker of that name is known${hint}`);
    const query = await queryOf(engine, options);
    const stop = abortAtStop(shell);
    try {
      await followLogs(engine, {
        query,
        tail: options.tail,
        signal: stop.signal,
        show: (logs) =>
          options.json ? shell.out(logs.map((entry) => `${JSON.stringify(entry)}\n`).join("")) : print(shell, logs),
        dropped: (count) =>
          sayNote(shell, `${count} entries arrived too fast and were skipped; see: svc logs --since 1m`),
        connection: (state) =>
          sayNote(shell, state === "lost" ? "disconnected from the engine; reconnecting" : "reconnected to the engine"),
      });
    } finally {
      stop.end();
    }
  });
}

function print(shell: Shell, logs: readonly StoredLog[]): void {
  const paint = outPaint(shell);
  shell.out(logs.map((entry) => `${storedLogLine(entry, paint)}\n`).join(""));
}

async function queryOf(
  engine: Worker,
  { level, service, function: functionId, trace, search, query, since }: LogsOptions,
): Promise<LogQuery> {
  return {
    severity_min: level === undefined ? undefined : LEVELS[level],
    services: service,
    function_id: functionId,
    trace_id: trace === undefined ? undefined : await fullTraceId(engine, trace),
    text: search,
    query,
    start_time: since,
  };
}

function hintOf(engine: Worker, { service, function: functionId }: LogsOptions): Promise<string> {
  return filterSuggestion(engine, { functionId, services: service });
}
