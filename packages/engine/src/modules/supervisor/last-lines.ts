import { shortened } from "./log-file.ts";

/** Lines of a process that ended unasked that are kept with how it ended. */
const MAX_LINES = 20;

/** The last lines of one process. A process and its replacement write to the same log file at the same time, so the file does not tell whose a line is. */
export class LastLines {
  #lines: string[] = [];
  #newestError = "";

  /** The process is started: lines of the run before are not its own. */
  clear(): void {
    this.#lines = [];
    this.#newestError = "";
  }

  add(stream: "stdout" | "stderr", text: string): void {
    const line = shortened(text);
    this.#lines.push(line);
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
    if (stream === "stderr" && text.trim() !== "") this.#newestError = line;
  }

  /** Oldest first, at most 20. */
  get all(): readonly string[] {
    return this.#lines;
  }

  /** The last line of standard error that is not blank; empty without one. */
  get newestError(): string {
    return this.#newestError;
  }
}
