import { type FileHandle, mkdir, open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import type { Clock } from "../../../kernel/clock.ts";
import { LineSplitter } from "../../../local-workers/line-splitter.ts";

/** Maximum size of one file before it is rotated. */
const MAX_FILE_BYTES = 10 * 1024 * 1024;
/** Number of files: the current one and its predecessors `.1` and `.2`. */
const FILES = 3;
/** Maximum characters that wait for the disk. Further lines are dropped and counted. */
const MAX_WAITING_LENGTH = 1024 * 1024;
/**
 * In each window of `WINDOW_MS`, the engine reads at most this many bytes of a worker's output, and spends at most this
 * many milliseconds on it (e.g. a megabyte of empty lines takes long). At a limit the engine stops reading for a while,
 * so that it can do other work. The worker may have to wait then.
 */
const MAX_READ_BYTES_PER_WINDOW = 1024 * 1024;
const MAX_WORK_MS_PER_WINDOW = 20;
const WINDOW_MS = 100;
const TAIL_LINES = 200;
/** Maximum length of a line of the tail, which is in memory and part of results. The file has the whole line. */
const MAX_TAIL_LINE_LENGTH = 4 * 1024;

export interface LogFileOptions {
  /** Absolute path. Its folder is created if it is missing. */
  readonly file: string;
  readonly clock: Clock;
  /** Called when the file cannot be written. Not called again before a write has succeeded. */
  readonly onProblem: (error: Error) => void;
  /** Default 10 MiB. */
  readonly maxFileBytes?: number;
}

/**
 * A worker's output, line by line with time and stream, in a rotating file. The last lines are also in memory. Never
 * blocks, never throws.
 */
export class LogFile {
  readonly #options: LogFileOptions;
  readonly #maxFileBytes: number;
  readonly #tail: string[] = [];
  readonly #onWritten = new Set<() => void>();
  #waiting: string[] = [];
  #waitingLength = 0;
  #dropped = 0;
  #handle: FileHandle | undefined;
  #size = 0;
  #writing: Promise<void> | undefined;
  #stampedMs = Number.NaN;
  #stamp = "";
  #broken = false;
  #closed = false;

  constructor(options: LogFileOptions) {
    this.#options = options;
    this.#maxFileBytes = options.maxFileBytes ?? MAX_FILE_BYTES;
  }

  get file(): string {
    return this.#options.file;
  }

  /** Adds a line. `stream` is its source: `out`, `err`, `install` or `svc`. */
  line(stream: string, text: string): void {
    this.#tail.push(shortened(text));
    if (this.#tail.length > TAIL_LINES) this.#tail.shift();
    if (this.#closed) return;
    const line = `${this.#timestamp()} ${stream} ${text}\n`;
    if (this.#waitingLength + line.length > MAX_WAITING_LENGTH) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(line);
    this.#waitingLength += line.length;
    this.#writing ??= this.#writeAll();
  }

  /** Paths of the current and the previous files, oldest first, also of missing ones. */
  get files(): readonly string[] {
    return Array.from({ length: FILES }, (_, index) => nameOfAge(this.file, FILES - 1 - index));
  }

  /** Returns the last lines, at most 200, without time and stream. */
  tail(count: number): string[] {
    return count === 0 ? [] : this.#tail.slice(-count);
  }

  /** Calls `listener` each time that lines were written to the file. */
  onWritten(listener: () => void): () => void {
    this.#onWritten.add(listener);
    return () => this.#onWritten.delete(listener);
  }

  /**
   * Reads a process's output to its end. `onLine` also gets each line; its run time counts against the limit per
   * window.
   */
  capture(stream: string, readable: Readable, onLine?: (line: string) => void): void {
    const lines = new LineSplitter((line) => {
      this.line(stream, line);
      onLine?.(line);
    });
    let windowStartMs = this.#options.clock.monotonic();
    let windowBytes = 0;
    let windowWorkMs = 0;
    readable.on("data", (chunk: Buffer) => {
      const startMs = this.#options.clock.monotonic();
      if (startMs - windowStartMs >= WINDOW_MS) {
        windowStartMs = startMs;
        windowBytes = 0;
        windowWorkMs = 0;
      }
      lines.push(chunk);
      const nowMs = this.#options.clock.monotonic();
      windowBytes += chunk.length;
      windowWorkMs += nowMs - startMs;
      if (windowBytes < MAX_READ_BYTES_PER_WINDOW && windowWorkMs < MAX_WORK_MS_PER_WINDOW) return;
      readable.pause();
      // If the work took longer than the limit, pause for longer in proportion, so that the limit holds on average.
      const restMs = Math.max(
        windowStartMs + WINDOW_MS - nowMs,
        (windowWorkMs * WINDOW_MS) / MAX_WORK_MS_PER_WINDOW - WINDOW_MS,
      );
      this.#options.clock.after(Math.max(1, restMs), () => readable.resume());
    });
    readable.on("end", () => lines.end());
    readable.on("error", (error) => this.line("svc", `reading ${stream} failed: ${error.message}`));
  }

  /** Resolves when all lines so far are in the file, or could not be written. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** Writes the waiting lines and closes the file. Later lines go to memory only. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.flush();
    await this.#handle?.close().catch(this.#options.onProblem);
    this.#handle = undefined;
  }

  /**
   * Returns the time in ISO 8601. It is cached, because many lines have the same millisecond and formatting a time is
   * slow.
   */
  #timestamp(): string {
    const nowMs = this.#options.clock.now();
    if (nowMs !== this.#stampedMs) {
      this.#stampedMs = nowMs;
      this.#stamp = new Date(nowMs).toISOString();
    }
    return this.#stamp;
  }

  async #writeAll(): Promise<void> {
    // Wait for the other lines of this turn of the event loop, so that one write takes all of them.
    await Promise.resolve();
    while (this.#waiting.length > 0 || this.#dropped > 0) {
      const text = this.#take();
      try {
        await this.#write(text);
        this.#broken = false;
        for (const listener of [...this.#onWritten]) listener();
      } catch (error) {
        if (!this.#broken) this.#options.onProblem(error as Error);
        this.#broken = true;
        await this.#handle?.close().catch(() => {});
        this.#handle = undefined;
      }
    }
    this.#writing = undefined;
  }

  #take(): string {
    const dropped =
      this.#dropped === 0
        ? ""
        : `${this.#timestamp()} svc ${this.#dropped} lines were dropped here: the disk was too slow\n`;
    const text = this.#waiting.join("") + dropped;
    this.#waiting = [];
    this.#waitingLength = 0;
    this.#dropped = 0;
    return text;
  }

  async #write(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    this.#handle ??= await this.#open();
    if (this.#size > 0 && this.#size + bytes.length > this.#maxFileBytes) {
      await this.#rotate();
      this.#handle = await this.#open();
    }
    await this.#handle.appendFile(bytes);
    this.#size += bytes.length;
  }

  async #open(): Promise<FileHandle> {
    await mkdir(dirname(this.file), { recursive: true });
    // Only the user may read the file, because output may be private.
    const handle = await open(this.file, "a", 0o600);
    this.#size = (await handle.stat()).size;
    return handle;
  }

  async #rotate(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
    for (let age = FILES - 1; age > 0; age--) {
      await rename(nameOfAge(this.file, age - 1), nameOfAge(this.file, age)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
      });
    }
    this.#size = 0;
  }
}

/** Returns a line in the form that is kept in memory. */
export function shortened(text: string): string {
  return text.length > MAX_TAIL_LINE_LENGTH ? `${text.slice(0, MAX_TAIL_LINE_LENGTH)}…` : text;
}

function nameOfAge(file: string, age: number): string {
  return age === 0 ? file : `${file}.${age}`;
}
