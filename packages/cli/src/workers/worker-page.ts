import type { TriggerRow } from "../engine/listings.ts";
import { conditionOf } from "../functions/trigger-condition.ts";
import { escapeUnprintable } from "../logs/log-lines.ts";
import type { Shell } from "../shell.ts";
import { formatBytes } from "../terminal/format-bytes.ts";
import { ago, dayAndTime } from "../terminal/times.ts";
import { hangingIndent } from "../terminal/word-wrap.ts";
import type { WorkerReport, WorkerState } from "./worker-functions.ts";
import { shownLine } from "./worker-lines.ts";
import type { WorkerLine } from "./worker-logs.ts";

/** Data that `svc worker status` shows. */
export interface WorkerStatus {
  readonly report: WorkerReport;
  /** Triggers that call functions of the worker. */
  readonly triggers: readonly TriggerRow[];
  /** Last lines of output. The oldest one is the first. */
  readonly lines: readonly WorkerLine[];
  /** Maximum number of rows for the output. One entry may have many rows, e.g. because of a stack. */
  readonly tail: number;
}

const NAME_WIDTH = 14;
/** Maximum number of rows of functions, and of triggers. It is limited because a worker may have hundreds. */
const MAX_ROWS = 20;
/** Maximum number of rows of output before the last exit. The log file contains all of it. */
const EXIT_LINES = 12;
const KINDS: Readonly<Record<WorkerReport["kind"], string>> = {
  local: "local, run by the engine",
  command: "command of svc-exec, run by the engine",
  module: "module of the engine",
  remote: "remote, connected on its own",
};

/** Formats all facts about one worker as lines without newlines. They are wrapped to the terminal's columns. */
export function workerPage(
  { report, triggers, lines, tail }: WorkerStatus,
  paint: Shell["paint"],
  columns?: number,
): readonly string[] {
  const { name, kind, state, reason, ready_at, next_start_at, waits_for, log_file } = report;
  const runsHere = kind === "local" || kind === "command";
  const fact = factsIn(paint, columns);
  const when = (iso: string): string => `${dayAndTime(Date.parse(iso))} (${ago(Date.parse(iso))})`;
  const isDown = state === "backing_off" || state === "crash_looping";
  return [
    `${paint.bold(escapeUnprintable(name))}  ${paint[stateColor(state)](state)}`,
    ...(reason === null
      ? []
      : reason.split("\n").flatMap((line) => hangingIndent("", escapeUnprintable(line), columns))),
    "",
    ...fact("kind", [KINDS[kind]]),
    ...fact("ready since", ready_at === null ? [] : [when(ready_at)]),
    ...fact("next start", next_start_at === null ? [] : [when(next_start_at)]),
    ...fact("waits for", waits_for.length === 0 ? [] : [waits_for.join(", ")]),
    ...(runsHere ? fact("restarts", [`${report.restarts} after a crash`]) : []),
    ...fact("last exit", lastExit(report, paint)),
    ...fact(kind === "remote" ? "connections" : "processes", processes(report)),
    ...fact("memory", report.memory_bytes === null ? [] : [formatBytes(report.memory_bytes)]),
    ...fact("cpu", report.cpu_percent === null ? [] : [`${report.cpu_percent.toFixed(1)} % of a core`]),
    ...fact("functions", capped(report.functions.map(escapeUnprintable), `svc functions --worker ${name}`)),
    ...fact("trigger types", capped(report.trigger_types.map(escapeUnprintable), "svc triggers")),
    ...fact("triggers", capped(triggers.map(triggerText), "svc triggers")),
    ...fact("log file", log_file === null ? [] : [escapeUnprintable(log_file)]),
    // If the worker is down, its last output is already shown with the last exit.
    ...(lines.length === 0 || isDown ? [] : ["", paint.bold("Last output")]),
    ...(isDown
      ? []
      : lastLines(
          lines.map((line) => outputLines(line, paint)),
          tail,
          paint,
        )),
  ];
}

/**
 * Returns the newest entries that fit. If an entry is too long, its middle is omitted, because some stacks begin with
 * the cause and others end with it.
 */
function lastLines(entries: readonly (readonly string[])[], room: number, paint: Shell["paint"]): readonly string[] {
  const shown: string[] = [];
  for (const lines of entries.toReversed()) {
    const left = room - shown.length;
    if (left <= 0) break;
    shown.unshift(...withoutMiddle(lines, left, paint));
  }
  return shown;
}

function withoutMiddle(lines: readonly string[], most: number, paint: Shell["paint"]): readonly string[] {
  if (lines.length <= most) return lines;
  if (most === 1) return lines.slice(0, 1);
  // There is no space for a separate line that marks the omission.
  if (most === 2) return [...lines.slice(0, 1), `    ${paint.dim("…")} ${lines.at(-1)?.trimStart()}`];
  const first = Math.ceil((most - 1) / 2);
  return [...lines.slice(0, first), `    ${paint.dim("…")}`, ...lines.slice(first + 1 - most)];
}

function outputLines(line: WorkerLine, paint: Shell["paint"]): readonly string[] {
  const { bar, time, text } = shownLine(line, { paint, quietIds: false });
  return `${paint.dim(dayAndTime(Date.parse(time)))} ${bar} ${text}`.split("\n");
}

/** Formats a name with its values below each other. Returns no lines if there are no values. */
function factsIn(
  paint: Shell["paint"],
  columns: number | undefined,
): (name: string, values: readonly string[]) => readonly string[] {
  return (name, values) =>
    values.flatMap((value, index) =>
      hangingIndent(paint.dim((index === 0 ? name : "").padEnd(NAME_WIDTH)), value, columns),
    );
}

function lastExit({ name, last_exit }: WorkerReport, paint: Shell["paint"]): readonly string[] {
  if (last_exit === null) return [];
  const { code, signal, at, lines } = last_exit;
  const how = signal ?? (code === null ? "it did not start" : `exit code ${code}`);
  const entries = lines.map((text) =>
    shownLine({ worker: name, time: at, stream: "err", replica: null, text }, { paint, quietIds: false }).text.split(
      "\n",
    ),
  );
  return [
    `${how}, ${ago(Date.parse(at))}`,
    ...lastLines(entries, EXIT_LINES, paint).map((line) => `${paint.dim("|")} ${line}`),
  ];
}

function processes({ replicas, pids }: WorkerReport): readonly string[] {
  const pidText = (pid: number | null): string => (pid === null ? "no process" : `pid ${pid}`);
  const [only] = replicas;
  if (only === undefined || (replicas.length === 1 && only.pid === null)) return [];
  const children = pids.length - replicas.filter(({ pid }) => pid !== null && pids.includes(pid)).length;
  const more =
    children <= 0
      ? []
      : [
          `and ${children} ${children === 1 ? "process" : "processes"} that ${replicas.length === 1 ? "it" : "they"} started`,
        ];
  if (replicas.length === 1) return [[pidText(only.pid), ...more].join(" ")];
  return [...replicas.map(({ index, state, pid }) => `#${index}  ${state}  ${pidText(pid)}`), ...more];
}

function triggerText({ trigger_type, config, function_id, status, reason }: TriggerRow): string {
  const condition = [trigger_type, conditionOf(trigger_type, config)].filter((part) => part !== "").join("  ");
  const shownStatus =
    status.toLowerCase() === "active" ? "" : `  (${status.toLowerCase()}${reason === null ? "" : `: ${reason}`})`;
  return escapeUnprintable(`${condition} → ${function_id}${shownStatus}`);
}

function capped(rows: readonly string[], command: string): readonly string[] {
  return rows.length <= MAX_ROWS
    ? rows
    : [...rows.slice(0, MAX_ROWS - 1), `and ${rows.length - MAX_ROWS + 1} more: ${command}`];
}

/**
 * Returns the colour of a state: green for ready, yellow for a transition or a retry, red if the user must act, dim for
 * stopped.
 */
export function stateColor(state: WorkerState): "green" | "yellow" | "red" | "dim" {
  if (state === "ready") return "green";
  if (state === "stopped") return "dim";
  return state === "failed" || state === "crash_looping" ? "red" : "yellow";
}
