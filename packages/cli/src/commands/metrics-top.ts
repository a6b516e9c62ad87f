import type { CallFigures } from "@svc-runtime/protocol/listings";
import type { Worker } from "@svc-runtime/sdk";
import { Command, InvalidArgumentError, Option } from "commander";
import { askEngine } from "../engine/engine-request.ts";
import { usageFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { outPaint } from "../terminal/colors.ts";
import { watchPage } from "../terminal/live-screen.ts";
import { table } from "../terminal/table.ts";
import {
  allOptions,
  type EngineOptions,
  jsonOption,
  limitOption,
  parseDuration,
  withEngineOptions,
} from "./options.ts";

const DEFAULT_WINDOW_MS = 15 * 60_000;
const MIN_WINDOW_MS = 5_000;
const MAX_WINDOW_MS = 7 * 86_400_000;
/** Timeout of one poll, in milliseconds. After it, the engine is shown as not responding. */
const POLL_TIMEOUT_MS = 5_000;

interface TopOptions extends EngineOptions {
  readonly window: number;
  readonly sort: keyof typeof SORTS;
  readonly limit: number;
  readonly all?: true;
  readonly watch?: true;
  readonly json?: true;
}

interface Statistics extends CallFigures {
  readonly max_ms: number | null;
}

interface FunctionStatistics extends Statistics {
  readonly function_id: string;
}

interface Top {
  readonly functions: readonly FunctionStatistics[];
  readonly totals: Statistics;
  /** Reason why the engine keeps no metrics at present. */
  readonly problem?: string;
}

const SORTS = {
  calls: ({ calls }: Statistics) => calls,
  errors: ({ errors }: Statistics) => errors,
  p95: ({ p95_ms }: Statistics) => p95_ms ?? 0,
  max: ({ max_ms }: Statistics) => max_ms ?? 0,
} as const;

const NO_CALLS = `No function was called in this window.
Not counted: the engine's own functions (--all shows them), and commands that wait or poll.
`;

/** `svc metrics top`: lists the functions with the most calls. */
export function metricsTopCommand(shell: Shell): Command {
  const command = new Command("top")
    .summary("list the functions with the most calls")
    .description(
      "List functions by their calls, errors or durations in a window up to now. Durations are in milliseconds; percentiles are within 5 %.",
    )
    .option("--window <time>", "length of the window, 5s to 7d (default: 15m)", parseWindow)
    .addOption(
      new Option("--sort <column>", "column to sort by, the largest first")
        .choices(Object.keys(SORTS))
        .default("calls"),
    )
    .addOption(limitOption("functions", 20))
    .option("--all", "also the engine's own functions (engine::*)")
    .option("-w, --watch", "update every second until Ctrl-C; needs a terminal")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExamples:\n  svc metrics top\n  svc metrics top --sort p95 --window 1h\n  svc metrics top --watch --window 1m\n  svc metrics top --json | jq '.functions[] | select(.errors > 0)'\n",
    );
  return withEngineOptions(command).action((own: TopOptions) => {
    const options = allOptions({ ...own, window: own.window ?? DEFAULT_WINDOW_MS }, command);
    if (options.watch && options.json) throw usageFailure("--watch and --json cannot be used together.");
    if (options.watch && shell.outColumns === undefined) throw usageFailure("--watch needs a terminal.");
    return askEngine(shell, { command, options, access: "reads" }, async (engine) => {
      if (options.watch) await watchPage(shell, async () => page(shell, await readTop(engine, options)).split("\n"));
      else await print(shell, await readTop(engine, options), options);
    });
  });
}

function parseWindow(text: string): number {
  const ms = parseDuration(text);
  if (ms < MIN_WINDOW_MS || ms > MAX_WINDOW_MS) throw new InvalidArgumentError("Expected a duration from 5s to 7d.");
  return ms;
}

async function readTop(engine: Worker, { window, sort, limit, all }: TopOptions): Promise<Top> {
  const { functions, ...others } = await engine.call<Top>({
    function_id: "engine::metrics::functions",
    payload: { window_seconds: Math.round(window / 1_000) },
    timeoutMs: POLL_TIMEOUT_MS,
  });
  const weight = SORTS[sort];
  const shown = functions
    .filter(({ function_id, calls }) => calls > 0 && (all || !function_id.startsWith("engine::")))
    .sort((a, b) => weight(b) - weight(a));
  return { functions: shown.slice(0, limit), ...others };
}

async function print(shell: Shell, top: Top, { json }: TopOptions): Promise<void> {
  if (json) shell.out(`${JSON.stringify(top)}\n`);
  else if (top.problem !== undefined) shell.note(`No figures: ${top.problem}.\n`);
  else if (top.functions.length === 0) shell.note(NO_CALLS);
  else shell.out(page(shell, top));
}

function page(shell: Shell, { functions }: Top): string {
  const paint = outPaint(shell);
  const rows = functions.map(({ function_id, calls, rate_per_second, errors, p50_ms, p95_ms, p99_ms, max_ms }) => [
    function_id,
    String(calls),
    rate_per_second.toFixed(rate_per_second < 10 ? 2 : 0),
    String(errors),
    ...[p50_ms, p95_ms, p99_ms, max_ms].map(milliseconds),
  ]);
  return table(["FUNCTION", "CALLS", "PER S", "ERRORS", "P50 MS", "P95 MS", "P99 MS", "MAX MS"], rows, {
    columns: shell.outColumns,
    whole: ["FUNCTION"],
    style: (cell, { head }) => (head === "ERRORS" && cell.trim() !== "0" ? paint.red(cell) : cell),
  });
}

function milliseconds(value: number | null): string {
  if (value === null) return "-";
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}
