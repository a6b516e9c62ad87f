import type { LogRecord } from "@svc/engine";
import { parseLogLine, textLine, timeOfDay } from "../log-lines.ts";
import type { Shell } from "../shell.ts";
import { fitForTerminal, outPaint } from "../terminal-text.ts";
import { BAR, shownLine, writerOf } from "../worker-lines.ts";
import type { WorkerLine } from "../worker-logs.ts";
import { Prefixes } from "../worker-prefix.ts";
import { type WorkerRecord, workerRecordOf } from "../worker-record.ts";

/** Prints the output of engine, console and workers on one terminal, each line prefixed with its source. */
export class DevOutput {
  readonly #shell: Shell;
  readonly #paint: Shell["paint"];
  readonly #prefixes: Prefixes;

  constructor(shell: Shell, names: readonly string[]) {
    this.#shell = shell;
    this.#paint = outPaint(shell);
    this.#prefixes = new Prefixes(this.#paint, { names: ["engine", "console", ...names] });
  }

  /**
   * Prints a line of the engine's log or of the console. Skips lines about a worker that the worker's own log also has.
   */
  own(name: "engine" | "console", line: string): void {
    const record = parseLogLine(line);
    if (record === undefined) {
      this.#write(name, BAR, fitForTerminal(line, { colours: this.#paint.isColorSupported }));
      return;
    }
    const ofWorker = workerRecordOf(record);
    if (ofWorker !== undefined) this.#logged(ofWorker);
    else if (!isProgressOfWorker(record)) this.#record(name, record);
  }

  worker(line: WorkerLine): void {
    const { bar, time, text } = shownLine(line, this.#paint);
    for (const part of text.split("\n"))
      this.#write(writerOf(line), bar, `${this.#paint.dim(timeOfDay(Date.parse(time)))} ${part}`);
  }

  emptyLine(): void {
    this.#shell.out("\n");
  }

  /**
   * Prints what a worker logged through the engine under the worker's name. Skips records that the engine took from its
   * output, because those lines are shown already.
   */
  #logged({ service, isOutput, record }: WorkerRecord): void {
    if (!isOutput) this.#record(service, record);
  }

  #record(name: string, record: LogRecord): void {
    for (const part of textLine(record, this.#paint).split("\n")) this.#write(name, BAR, part);
  }

  #write(name: string, bar: string, text: string): void {
    this.#shell.out(`${this.#prefixes.of(name, bar)}${text}\n`);
  }
}

/** Starts, stops, crashes and readiness are also in the worker's own log, where they are easier to read. */
function isProgressOfWorker({ level, fields: { module, worker, reason } }: LogRecord): boolean {
  return module === "supervisor" && typeof worker === "string" && (level === "info" || typeof reason === "string");
}
