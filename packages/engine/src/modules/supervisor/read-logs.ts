import { CallError } from "@svc/protocol";
import type { Clock } from "../../kernel/clock.ts";
import type { LogsInput, LogsOutput } from "./functions.ts";
import type { LogFile } from "./log-file.ts";
import { type LinesRead, lastLines, linesAfter } from "./log-lines.ts";

/**
 * Returns lines of a log file for `worker::logs`. Waits for new lines if there are none after the cursor, unless the
 * engine is shutting down.
 */
export async function readLogs(
  output: LogFile,
  input: LogsInput,
  { clock, signal, draining }: { readonly clock: Clock; readonly signal: AbortSignal; readonly draining: AbortSignal },
): Promise<LogsOutput> {
  const { tail: count, cursor, wait_ms, stream, since_ms } = input;
  const filter = { stream, sinceMs: since_ms };
  let gap = false;
  const result = ({ lines, cursor: next }: LinesRead): LogsOutput => ({
    lines: [...lines],
    log_file: output.file,
    cursor: next,
    gap,
  });
  if (cursor === undefined) return result(await lastLines(output.files, { count, filter }));
  const deadlineMs = clock.monotonic() + wait_ms;
  for (let at = cursor; ; ) {
    const written = new NextWrite(output, clock, draining);
    try {
      const read = await linesAfter(output.files, { cursor: at, count, filter });
      const leftMs = deadlineMs - clock.monotonic();
      // Lines that do not match need not be read again.
      at = read.cursor;
      gap ||= read.hasGap;
      if (read.lines.length > 0 || leftMs <= 0 || draining.aborted) return result(read);
      await written.within(leftMs, signal);
    } finally {
      written.cancel();
    }
  }
}

/** Waits for the next write to the file, or for the engine's shutdown. It listens from its construction. */
class NextWrite {
  readonly #clock: Clock;
  readonly #stopListening: () => void;
  #hasHappened = false;
  #wake = (): void => {};

  constructor(output: LogFile, clock: Clock, draining: AbortSignal) {
    this.#clock = clock;
    const notify = (): void => {
      this.#hasHappened = true;
      this.#wake();
    };
    const stopListening = output.onWritten(notify);
    // Following a log must not delay the engine's shutdown.
    draining.addEventListener("abort", notify, { once: true });
    this.#stopListening = () => {
      stopListening();
      draining.removeEventListener("abort", notify);
    };
  }

  /** Rejects with `call_cancelled` if the call is cancelled. */
  within(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#hasHappened) {
        resolve();
        return;
      }
      const onAbort = (): void => {
        cancelTimer();
        reject(new CallError("call_cancelled", "the caller cancelled the call"));
      };
      const done = (): void => {
        cancelTimer();
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const cancelTimer = this.#clock.after(ms, done);
      this.#wake = done;
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
    });
  }

  cancel(): void {
    this.#stopListening();
  }
}
