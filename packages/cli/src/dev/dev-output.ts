import type { LogRecord } from "@svc/engine";
import { parseLogLine, textLine, timeOfDay } from "../log-lines.ts";
import type { Shell } from "../shell.ts";
import { fitForTerminal, outPaint } from "../terminal-text.ts";
import { BAR, shownLine, writerOf } from "../worker-lines.ts";
import type { WorkerLine } from "../worker-logs.ts";
import { Prefixes } from "../worker-prefix.ts";

/** The engine's message for what workers log, and the attribute of those entries that are lines of a worker's output. */
const WORKER_LOGS = "a worker logs";
const OUTPUT_STREAM = "log.iostream";

/** Everything that runs, on one terminal: each line below the name of who wrote it. */
export class DevOutput {
  readonly #shell: Shell;
  readonly #paint: Shell["paint"];
  readonly #prefixes: Prefixes;

  constructor(shell: Shell, names: readonly string[]) {
    this.#shell = shell;
    this.#paint = outPaint(shell);
    this.#prefixes = new Prefixes(this.#paint, { names: ["engine", "console", ...names] });
  }

  /** A line of the engine's log or of the console. What it says of a worker that the worker's own lines say as well is left out. */
  own(name: "engine" | "console", line: string): void {
    const record = parseLogLine(line);
    if (record === undefined) this.#write(name, BAR, fitForTerminal(line, { colours: this.#paint.isColorSupported }));
    else if (record.message === WORKER_LOGS) this.#logged(record);
    else if (!isProgressOfWorker(record)) this.#record(name, record);
  }

  worker(line: WorkerLine): void {
    const { bar, time, text } = shownLine(line, this.#paint);
    for (const part of text.split("\n")) this.#write(writerOf(line), bar, `${this.#paint.dim(timeOfDay(Date.parse(time)))} ${part}`);
  }

  emptyLine(): void {
    this.#shell.out("\n");
  }

  /** What a worker logs through the engine stands below the worker's name, unless the engine has it from the lines of its output. */
  #logged(record: LogRecord): void {
    const { service, text, module: _module, data, ...fields } = record.fields;
    if (typeof data === "object" && data !== null && OUTPUT_STREAM in data) return;
    this.#record(String(service), { ...record, message: String(text), fields: data === undefined ? fields : { ...fields, data } });
  }

  #record(name: string, record: LogRecord): void {
    for (const part of textLine(record, this.#paint).split("\n")) this.#write(name, BAR, part);
  }

  #write(name: string, bar: string, text: string): void {
    this.#shell.out(`${this.#prefixes.of(name, bar)}${text}\n`);
  }
}

/** Starts, stops, crashes and readiness stand in the worker's own log too, where they are easier to read. */
function isProgressOfWorker({ level, fields: { module, worker, reason } }: LogRecord): boolean {
  return module === "supervisor" && typeof worker === "string" && (level === "info" || typeof reason === "string");
}
