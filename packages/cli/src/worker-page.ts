import type { TriggerRow } from "./listings.ts";
import { escapeUnprintable } from "./log-lines.ts";
import { occasionOf } from "./occasion.ts";
import type { Shell } from "./shell.ts";
import { ago, dayAndTime, formatBytes } from "./times.ts";
import { hung } from "./word-wrap.ts";
import type { WorkerReport } from "./worker-functions.ts";
import { shownLine } from "./worker-lines.ts";
import type { WorkerLine } from "./worker-logs.ts";
import { stateColor } from "./worker-state.ts";

/** All that `svc worker status` tells. */
export interface WorkerStanding {
  readonly report: WorkerReport;
  /** Those that call its functions. */
  readonly triggers: readonly TriggerRow[];
  /** The last of its output, oldest first. */
  readonly lines: readonly WorkerLine[];
  /** How many lines of the terminal they may take: an entry with a stack takes many. */
  readonly tail: number;
}

const NAME_WIDTH = 14;
/** Functions and triggers; a worker may have hundreds. */
const MOST_ROWS = 20;
/** Of what it said before it ended; all of it is in the log file. */
const EXIT_LINES = 12;
const KINDS: Readonly<Record<WorkerReport["kind"], string>> = {
  local: "local, run by the engine",
  command: "command of svc-exec, run by the engine",
  module: "module of the engine",
  remote: "remote, connected by itself",
};

/** All about one worker, for people: lines without their ends. Facts fit the columns of a terminal. */
export function workerPage({ report, triggers, lines, tail }: WorkerStanding, paint: Shell["paint"], columns?: number): readonly string[] {
  const { name, kind, state, reason, ready_at, next_start_at, waits_for, log_file } = report;
  const runsHere = kind === "local" || kind === "command";
  const fact = factsIn(paint, columns);
  const when = (iso: string): string => `${dayAndTime(Date.parse(iso))} (${ago(Date.parse(iso))})`;
  const isDown = state === "backing_off" || state === "crash_looping";
  return [
    `${paint.bold(escapeUnprintable(name))}  ${paint[stateColor(state)](state)}`,
    ...(reason === null ? [] : reason.split("\n").flatMap((line) => hung("", escapeUnprintable(line), columns))),
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
    // Where it is down, the lines of its last exit are the last that it said.
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

/** As many of the newest entries as there is room for; one that is too long without its middle: some stacks begin with what went wrong, others end with it. */
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
  // No room to mark the cut on a line of its own.
  if (most === 2) return [...lines.slice(0, 1), `    ${paint.dim("…")} ${lines.at(-1)?.trimStart()}`];
  const first = Math.ceil((most - 1) / 2);
  return [...lines.slice(0, first), `    ${paint.dim("…")}`, ...lines.slice(first + 1 - most)];
}

function outputLines(line: WorkerLine, paint: Shell["paint"]): readonly string[] {
  const { bar, time, text } = shownLine(line, paint);
  return `${paint.dim(dayAndTime(Date.parse(time)))} ${bar} ${text}`.split("\n");
}

/** A name, and what there is to say below each other; nothing where there is nothing to say. */
function factsIn(paint: Shell["paint"], columns: number | undefined): (name: string, values: readonly string[]) => readonly string[] {
  return (name, values) => values.flatMap((value, index) => hung(paint.dim((index === 0 ? name : "").padEnd(NAME_WIDTH)), value, columns));
}

function lastExit({ name, last_exit }: WorkerReport, paint: Shell["paint"]): readonly string[] {
  if (last_exit === null) return [];
  const { code, signal, at, lines } = last_exit;
  const how = signal ?? (code === null ? "it did not start" : `exit code ${code}`);
  const entries = lines.map((text) => shownLine({ worker: name, time: at, stream: "err", replica: null, text }, paint).text.split("\n"));
  return [`${how}, ${ago(Date.parse(at))}`, ...lastLines(entries, EXIT_LINES, paint).map((line) => `${paint.dim("|")} ${line}`)];
}

function processes({ replicas, pids }: WorkerReport): readonly string[] {
  const pidText = (pid: number | null): string => (pid === null ? "no process" : `pid ${pid}`);
  const [only] = replicas;
  if (only === undefined || (replicas.length === 1 && only.pid === null)) return [];
  const children = pids.length - replicas.filter(({ pid }) => pid !== null && pids.includes(pid)).length;
  const more = children <= 0 ? [] : [`and ${children} ${children === 1 ? "process" : "processes"} that ${replicas.length === 1 ? "it" : "they"} started`];
  if (replicas.length === 1) return [[pidText(only.pid), ...more].join(" ")];
  return [...replicas.map(({ index, state, pid }) => `#${index}  ${state}  ${pidText(pid)}`), ...more];
}

function triggerText({ trigger_type, config, function_id, status, reason }: TriggerRow): string {
  const occasion = [trigger_type, occasionOf(trigger_type, config)].filter((part) => part !== "").join("  ");
  const standing = status.toLowerCase() === "active" ? "" : `  (${status.toLowerCase()}${reason === null ? "" : `: ${reason}`})`;
  return escapeUnprintable(`${occasion} → ${function_id}${standing}`);
}

function capped(rows: readonly string[], command: string): readonly string[] {
  return rows.length <= MOST_ROWS ? rows : [...rows.slice(0, MOST_ROWS - 1), `and ${rows.length - MOST_ROWS + 1} more: ${command}`];
}
