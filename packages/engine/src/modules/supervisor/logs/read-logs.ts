import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";
import type { Clock } from "../../../kernel/clock.ts";
import type { LogFile } from "./log-file.ts";
import { type LinesRead, lastLines, linesAfter } from "./log-lines.ts";

/** Maximum lines of one result, which has at most 1 MiB of text. */
export const MAX_TAIL = 5_000;
const MAX_LOG_WAIT_MS = 30_000;

/** Input of `worker::logs`, without the name of the worker. */
export const logsOptions = z.strictObject({
  tail: z
    .int()
    .min(0)
    .max(MAX_TAIL)
    .default(100)
    .meta({ description: "Maximum lines: the last ones, or with a cursor the next ones" }),
  since_ms: z.int().min(0).optional().meta({ description: "Skips older lines; milliseconds since 1970" }),
  stream: z
    .enum(["out", "err", "install", "svc"])
    .optional()
    .meta({ description: "Only lines of this stream. `svc` contains the engine's messages about the worker" }),
  cursor: z
    .string()
    .max(64)
    .optional()
    .meta({ description: "`cursor` of an earlier result: returns only later lines" }),
  wait_ms: z
    .int()
    .min(0)
    .max(MAX_LOG_WAIT_MS)
    .default(0)
    .meta({ description: "With a cursor: maximum wait for a new line, in milliseconds" }),
});
export type LogsOptions = z.output<typeof logsOptions>;

export const logsOutput = z.object({
  lines: z
    .array(
      z.object({
        time: z.string().meta({ description: "ISO time" }),
        stream: z.enum(["out", "err", "install", "svc"]),
        replica: z
          .int()
          .nullable()
          .meta({ description: "The replica that wrote it, from 1. Null if there is only one" }),
        text: z.string(),
      }),
    )
    .meta({ description: "Newest last" }),
  log_file: z.string().meta({
    description: "Absolute path of the file. Older lines are in NAME.log.1 and NAME.log.2 in the same folder",
  }),
  cursor: z.string().meta({ description: "For the next call" }),
  gap: z.boolean().meta({
    description: "True if lines after the cursor are lost, because the log was rotated and their file removed",
  }),
});
export type LogsOutput = z.output<typeof logsOutput>;

/**
 * Returns lines of a log file for `worker::logs`. If there are no lines after the cursor, waits up to `wait_ms` for new
 * lines. Does not wait while the engine is shutting down.
 */
export async function readLogs(
  output: LogFile,
  input: LogsOptions,
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
      // Continue after the lines that did not match, so that they are not read again.
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
