import { readTraceQuery, TRACE_FIELDS } from "@svc-runtime/protocol/query";
import { Command, Option } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { filterSuggestion } from "../logs/filter-suggestion.ts";
import type { Shell } from "../shell.ts";
import { outPaint } from "../terminal/colors.ts";
import { sayMissing } from "../terminal/say-missing.ts";
import { table } from "../terminal/table.ts";
import { dayAndTime } from "../terminal/times.ts";
import { drawTrace, precise } from "../traces/draw-trace.ts";
import { fullTraceId, listTraces, type TraceRow, traceNotFound } from "../traces/trace-ids.ts";
import { spansOf } from "../traces/traces.ts";
import {
  allOptions,
  type EngineOptions,
  jsonOption,
  limitOption,
  parseSince,
  parseTraceId,
  wholeNumber,
  withEngineOptions,
} from "./options.ts";
import { queryHelp, queryOption } from "./query-option.ts";

interface TracesOptions extends EngineOptions {
  readonly status?: "ok" | "error" | "pending";
  readonly withErrors?: true;
  readonly service?: string;
  readonly function?: string;
  readonly search?: string;
  readonly query?: string;
  readonly minDuration?: number;
  readonly since?: number;
  readonly limit: number;
  readonly all?: true;
  readonly json?: true;
}

/** `svc traces`: lists traces or draws one. */
export function tracesCommand(shell: Shell): Command {
  const command = new Command("traces")
    .summary("list traces or draw one as a tree")
    .description(
      "List the latest traces. With an id or its first characters, draw the trace as a tree of calls with start times, durations and errors.",
    )
    .argument("[id]", "trace to draw; the first characters of its id are enough if they are unique", parseTraceId)
    .addOption(
      new Option("--status <status>", "only traces whose root span has this status").choices([
        "ok",
        "error",
        "pending",
      ]),
    )
    .option("--with-errors", "only traces with a failed span, also in asynchronous work")
    .option("--service <text>", "only traces with this text in the name of one of their workers")
    .option("--function <function>", "only traces in which this function ran")
    .option("--search <text>", "only traces with a span that contains these words")
    .addOption(queryOption("traces", readTraceQuery))
    .option(
      "--min-duration <ms>",
      "only traces that took at least this many milliseconds",
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
    )
    .option("--since <time>", "only traces since a time or a duration ago, e.g. 10m", parseSince)
    .addOption(limitOption("traces", 20))
    .option("--all", "also traces of the engine's internal work")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExamples:\n  svc traces\n  svc traces 4bf92f35\n  svc traces --status error --since 1h\n  svc traces --function math::add --json\n  svc traces --query 'error and function:orders::* and duration>100ms'\n",
    )
    .addHelpText("after", queryHelp(TRACE_FIELDS, "a span failed"));
  return withEngineOptions(command).action((id: string | undefined, own: TracesOptions) => {
    const options = allOptions(own, command);
    return id === undefined ? list(shell, command, options) : draw(shell, command, { id, options });
  });
}

async function list(shell: Shell, command: Command, options: TracesOptions): Promise<void> {
  const { status, withErrors, service, search, since, limit, minDuration, all } = options;
  const filters = {
    status,
    with_errors: withErrors,
    service_name: service,
    function_id: options.function,
    text: search,
    query: options.query,
    min_duration_ms: minDuration,
    start_time: since,
  };
  const query = { ...filters, limit, include_internal: all };
  const { traces, hint, nodes, missing } = await askEngine(
    shell,
    { command, options, access: "reads" },
    async (engine) => {
      const found = await listTraces(engine, query);
      const services = service === undefined ? [] : [service];
      const hint =
        found.traces.length === 0 ? await filterSuggestion(engine, { functionId: options.function, services }) : "";
      return { ...found, hint };
    },
  );
  if (options.json) shell.out(`${JSON.stringify({ traces, missing })}\n`);
  else if (traces.length === 0)
    shell.note(
      Object.values(filters).every((filter) => filter === undefined)
        ? "There are no traces yet.\n"
        : `No trace matches${hint || "."}\n`,
    );
  else print(shell, traces, (nodes?.length ?? 0) > 1);
  if (!options.json) sayMissing(shell, missing, "traces");
}

/** Number of characters of a trace id in the list. They are enough to identify one trace among thousands. */
const SHOWN_ID_CHARACTERS = 12;

function print(shell: Shell, traces: readonly TraceRow[], hasNodes: boolean): void {
  const paint = outPaint(shell);
  const rows = traces.map(
    ({ trace_id, start_time_ms, duration_ms, span_count, error_count, root_name, service, status, nodes = [] }) => [
      trace_id.slice(0, SHOWN_ID_CHARACTERS),
      dayAndTime(start_time_ms),
      duration_ms === null ? "running" : precise(duration_ms),
      String(span_count),
      error_count > 0 ? `${error_count} ✗` : status,
      ...(hasNodes ? [nodes.join(", ")] : []),
      service ?? "",
      root_name ?? "",
    ],
  );
  const style = (cell: string, { head }: { readonly head: string }): string =>
    head === "STATUS" && cell.includes("✗") ? paint.red(cell) : cell;
  shell.out(
    table(["TRACE", "BEGAN", "TOOK", "SPANS", "STATUS", ...(hasNodes ? ["NODE"] : []), "SERVICE", "NAME"], rows, {
      columns: shell.outColumns,
      style,
    }),
  );
}

async function draw(
  shell: Shell,
  command: Command,
  { id, options }: { readonly id: string; readonly options: TracesOptions },
): Promise<void> {
  const { traceId, spans } = await askEngine(shell, { command, options, access: "reads" }, async (engine) => {
    const found = await fullTraceId(engine, id);
    return { traceId: found, spans: await spansOf(engine, found) };
  });
  if (spans.total === 0) throw traceNotFound(traceId);
  if (options.json) shell.out(`${JSON.stringify({ trace_id: traceId, ...spans })}\n`);
  else {
    shell.out(drawTrace(traceId, spans, { columns: shell.outColumns, paint: outPaint(shell) }));
    sayMissing(shell, spans.missing, "spans");
  }
}
