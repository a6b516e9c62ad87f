import { CallError } from "@svc/protocol";
import type { Clock } from "../../kernel/clock.ts";
import type { LogsInput, LogsOutput } from "./functions.ts";
import type { LogFile } from "./log-file.ts";
import { type LinesRead, lastLines, linesAfter } from "./log-lines.ts";

/** Lines of a log file as `worker::logs` was asked for them. Waits for new ones when there are none behind the cursor, unless the engine is about to end. */
export async function readLogs(
  output: LogFile,
  input: LogsInput,
  { clock, signal, draining }: { readonly clock: Clock; readonly signal: AbortSignal; readonly draining: AbortSignal },
): Promise<LogsOutput> {
  const { tail: count, cursor, wait_ms, stream, since_ms } = input;
  const filter = { stream, sinceMs: since_ms };
  let gap = false;
  const answer = ({ lines, cursor: next }: LinesRead): LogsOutput => ({ lines: [...lines], log_file: output.file, cursor: next, gap });
  if (cursor === undefined) return answer(await lastLines(output.files, { count, filter }));
  const deadlineMs = clock.monotonic() + wait_ms;
  for (let at = cursor; ; ) {
    const written = new NextWrite(output, clock, draining);
    try {
      const read = await linesAfter(output.files, { cursor: at, count, filter });
      const leftMs = deadlineMs - clock.monotonic();
      // Lines that are not wanted need not be looked at again.
      at = read.cursor;
      gap ||= read.hasGap;
      if (read.lines.length > 0 || leftMs <= 0 || draining.aborted) return answer(read);
      await written.within(leftMs, signal);
    } finally {
      written.cancel();
    }
  }
}

/** The next time that lines come to the file, or that the engine is about to end; begins to listen when it is made. */
class NextWrite {
  readonly #clock: Clock;
  readonly #stopListening: () => void;
  #isThere = false;
  #wake = (): void => {};

  constructor(output: LogFile, clock: Clock, draining: AbortSignal) {
    this.#clock = clock;
    const tell = (): void => {
      this.#isThere = true;
      this.#wake();
    };
    const stopListening = output.onWritten(tell);
    // Who follows a log must not keep the engine from ending.
    draining.addEventListener("abort", tell, { once: true });
    this.#stopListening = () => {
      stopListening();
      draining.removeEventListener("abort", tell);
    };
  }

  /** Rejects with `call_cancelled` when the caller goes. */
  within(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isThere) {
        resolve();
        return;
      }
      const onAbort = (): void => {
        cancelTimer();
        reject(new CallError("call_cancelled", "the caller no longer waits"));
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
