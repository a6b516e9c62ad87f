import { shortened } from "./log-file.ts";

/** Maximum lines stored with the exit of a crashed process. */
const MAX_LINES = 20;

/**
 * A line that names an error counts as the cause of the exit only if no more than this many lines of standard error
 * follow it. The longest stacks that programs print have about this many lines.
 */
const MAX_LINES_AFTER_ERROR = 60;
/**
 * A line that names an error, e.g. `TypeError: x is not a function`, `worker.ts:5:9: ERROR: Expected "}"`, `panic:
 * boom`.
 */
const NAMES_ERROR = /^(?:Uncaught )?[\w.$]*(?:Error|Exception)\b|: ERROR: |^panic: |\bpanicked at\b/;
/** A stack frame, or the last line of Node's crash report. */
const IS_STACK_LINE = /^\s+at |^Node\.js v\d/;

/**
 * The last lines of one process. They cannot be read from the log file, because a process and its replacement write to
 * the same file at the same time.
 */
export class LastLines {
  #lines: string[] = [];
  #newestError = "";
  #namedError = "";
  #linesSinceNamed = 0;

  /** Call when the process starts: earlier lines belong to the previous run. */
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
    if (!IS_STACK_LINE.test(text)) this.#newestError = line;
  }

  /** The last lines, oldest first, at most 20. */
  get all(): readonly string[] {
    return this.#lines;
  }

  /**
   * The latest line of standard error that names an error. Without such a line, the latest line that is not a stack
   * frame. Without any line, empty.
   */
  get newestError(): string {
    return this.#namedError !== "" && this.#linesSinceNamed <= MAX_LINES_AFTER_ERROR
      ? this.#namedError
      : this.#newestError;
  }
}
