import type { TriggerRow } from "./listings.ts";
import { escapeUnprintable } from "./log-lines.ts";
import { occasionOf } from "./occasion.ts";
import type { Shell } from "./shell.ts";
import { fitForTerminal } from "./terminal-text.ts";
import { ago, dayAndTime, formatBytes } from "./times.ts";
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

/** All about one worker, for people: lines without their ends. */
export function workerPage({ report, triggers, lines, tail }: WorkerStanding, paint: Shell["paint"]): readonly string[] {
  const { name, kind, state, reason, ready_at, next_start_at, waits_for, log_file } = report;
  const runsHere = kind === "local" || kind === "command";
  const fact = factsIn(paint);
  const when = (iso: string): string => `${dayAndTime(Date.parse(iso))} (${ago(Date.parse(iso))})`;
  const isDown = state === "backing_off" || state === "crash_looping";
  return [
    `${paint.bold(escapeUnprintable(name))}  ${paint[stateColor(state)](state)}`,
    ...(reason === null ? [] : reason.split("\n").map((line) => escapeUnprintable(line))),
    "",
    ...fact("kind", [KINDS[kind]]),
    ...fact("ready since", ready_at === null ? [] : [when(ready_at)]),
    ...fact("next start", next_start_at === null ? [] : [when(next_start_at)]),
    ...fact("waits for", waits_for.length === 0 ? [] : [waits_for.join(", ")]),
    ...(runsHere ? fact("restarts", [String(report.restarts)]) : []),
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
    ...(isDown ? [] : lastLines(lines, tail, paint)),
  ];
}

/** As many of the newest entries as there is room for; of one that is too long, how it begins. */
function lastLines(entries: readonly WorkerLine[], tail: number, paint: Shell["paint"]): readonly string[] {
  const shown: string[] = [];
  for (const entry of entries.toReversed()) {
    const room = tail - shown.length;
    if (room <= 0) break;
    const lines = outputLines(entry, paint);
    shown.unshift(...(lines.length <= room ? lines : [...lines.slice(0, Math.max(1, room - 1)), ...(room > 1 ? [`    ${paint.dim("…")}`] : [])]));
  }
  return shown;
}

function outputLines(line: WorkerLine, paint: Shell["paint"]): readonly string[] {
  const { bar, time, text } = shownLine(line, paint);
  return `${paint.dim(dayAndTime(Date.parse(time)))} ${bar} ${text}`.split("\n");
}

/** A name, and what there is to say below each other; nothing where there is nothing to say. */
function factsIn(paint: Shell["paint"]): (name: string, values: readonly string[]) => readonly string[] {
  return (name, values) => values.map((value, index) => `${paint.dim((index === 0 ? name : "").padEnd(NAME_WIDTH))}${value}`);
}

function lastExit({ last_exit }: WorkerReport, paint: Shell["paint"]): readonly string[] {
  if (last_exit === null) return [];
  const { code, signal, at, lines } = last_exit;
  const how = signal ?? (code === null ? "it did not start" : `exit code ${code}`);
  return [
    `${how}, ${ago(Date.parse(at))}`,
    ...lines.slice(-EXIT_LINES).map((line) => `${paint.dim("|")} ${fitForTerminal(line, { colours: paint.isColorSupported })}`),
  ];
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
