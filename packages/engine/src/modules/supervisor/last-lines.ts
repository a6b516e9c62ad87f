import { shortened } from "./log-file.ts";

/** Lines of a process that ended unasked that are kept with how it ended. */
const MAX_LINES = 20;

/** Lines after which a line that names an error no longer counts as why the process ended: about the longest stack that programs print. */
const MAX_LINES_AFTER_ERROR = 60;
/** A line that names an error, e.g. `TypeError: x is not a function`, `worker.ts:5:9: ERROR: Expected "}"`, `panic: boom`. */
const NAMES_ERROR = /^(?:Uncaught )?[\w.$]*(?:Error|Exception)\b|: ERROR: |^panic: |\bpanicked at\b/;
/** A frame of a stack, or the line with which Node ends its report. */
const SAYS_LITTLE = /^\s+at |^Node\.js v\d/;

/** The last lines of one process. A process and its replacement write to the same log file at the same time, so the file does not tell whose a line is. */
export class LastLines {
  #lines: string[] = [];
  #newestError = "";
  #namedError = "";
  #linesSinceNamed = 0;

  /** The process is started: lines of the run before are not its own. */
  clear(): void {
    this.#lines = [];
    this.#newestError = "";
    this.#namedError = "";
  }

  add(stream: "stdout" | "stderr", text: string): void {
    const line = shortened(text);
    this.#lines.push(line);
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
    if (stream === "stdout" || text.trim() === "") return;
    this.#linesSinceNamed++;
    if (NAMES_ERROR.test(text)) {
      this.#namedError = line;
      this.#linesSinceNamed = 0;
    }
    if (!SAYS_LITTLE.test(text)) this.#newestError = line;
  }

  /** Oldest first, at most 20. */
  get all(): readonly string[] {
    return this.#lines;
  }

  /** The latest line of standard error that names an error, else the last one that is no frame of a stack; empty without one. */
  get newestError(): string {
    return this.#namedError !== "" && this.#linesSinceNamed <= MAX_LINES_AFTER_ERROR ? this.#namedError : this.#newestError;
  }
}
