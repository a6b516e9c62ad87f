import type { LogRecord } from "@svc-runtime/engine";
import { parseLogLine, textLine, timeOfDay } from "../logs/log-lines.ts";
import { withShortIds } from "../logs/short-ids.ts";
import type { Shell } from "../shell.ts";
import { outPaint } from "../terminal/colors.ts";
import { fitForTerminal } from "../terminal/fit-for-terminal.ts";
import { MergedLines } from "../workers/merged-lines.ts";
import { BAR, shownLine, writerOf } from "../workers/worker-lines.ts";
import type { WorkerLine } from "../workers/worker-logs.ts";
import { Prefixes } from "../workers/worker-prefix.ts";
import { workerRecordOf } from "../workers/worker-record.ts";

/**
 * Prints the output of engine, console and workers on one terminal, ordered by time. Each line begins with its source.
 */
export class DevOutput {
  readonly #shell: Shell;
  readonly #paint: Shell["paint"];
  readonly #quietIds: boolean;
  readonly #prefixes: Prefixes;
  readonly #lines = new MergedLines();

  constructor(
    shell: Shell,
    {
      names,
      own = ["engine", "console"],
      quietIds,
    }: {
      /** Names of workers. */
      readonly names: readonly string[];
      /** Names of the other sources. */
      readonly own?: readonly string[];
      readonly quietIds: boolean;
    },
  ) {
    this.#shell = shell;
    this.#paint = outPaint(shell);
    this.#quietIds = quietIds;
    this.#prefixes = new Prefixes(this.#paint, { names, others: own });
  }

  /**
   * Prints a line of an engine's log, of the console or of a server. A line that the worker's own log contains too is
   * skipped.
   */
  own(name: string, line: string): void {
    const record = parseLogLine(line);
    if (record === undefined) {
      const text = fitForTerminal(line, { colours: this.#paint.isColorSupported });
      this.#lines.add({ source: name, timeMs: Date.now(), write: () => this.#write(name, BAR, text) });
      return;
    }
    const ofWorker = workerRecordOf(record);
    if (ofWorker === undefined) {
      if (!isProgressOfWorker(record)) this.#record(name, record, name);
      return;
    }
    // The engine read this entry from the worker's output, which is already shown.
    if (ofWorker.isOutput) return;
    this.#record(name, ofWorker.record, ofWorker.service, ofWorker.id);
  }

  worker(line: WorkerLine): void {
    const { bar, time, text, id } = shownLine(line, { paint: this.#paint, quietIds: this.#quietIds });
    const shownTime = this.#paint.dim(timeOfDay(Date.parse(time)));
    this.#lines.add({
      source: `worker ${line.worker}`,
      timeMs: Date.parse(line.time),
      id,
      write: () => {
        for (const part of text.split("\n")) this.#write(writerOf(line), bar, `${shownTime} ${part}`);
      },
    });
  }

  emptyLine(): void {
    this.flush();
    this.#shell.out("\n");
  }

  /** Prints all lines received so far. Must be called before anything else is printed. */
  flush(): void {
    this.#lines.flush();
  }

  /** Prints a record of a log. `id` is set if the worker's output may contain the same entry. */
  #record(source: string, record: LogRecord, name: string, id?: string): void {
    const fields = withShortIds(record.fields, { quiet: this.#quietIds });
    const text = textLine({ ...record, fields }, this.#paint);
    this.#lines.add({
      source,
      timeMs: record.time,
      id,
      isCopy: id !== undefined,
      write: () => {
        for (const part of text.split("\n")) this.#write(name, BAR, part);
      },
    });
  }

  #write(name: string, bar: string, text: string): void {
    this.#shell.out(`${this.#prefixes.of(name, bar)}${text}\n`);
  }
}

/**
 * True for records about starts, stops, crashes and readiness of a worker. They are also in the worker's own log, where
 * they are easier to read.
 */
function isProgressOfWorker({ level, fields: { module, worker, reason } }: LogRecord): boolean {
  return module === "supervisor" && typeof worker === "string" && (level === "info" || typeof reason === "string");
}
