import { setTimeout as pause } from "node:timers/promises";
import { CallError } from "@svc-runtime/protocol";
import { isTransient } from "../engine/engine-session.ts";
import type { EngineCalls } from "./worker-functions.ts";

export type LogStream = "out" | "err" | "install" | "svc";

/** One line of a worker's output, as returned by `worker::logs`. */
export interface WorkerLine {
  readonly worker: string;
  /** Time in ISO 8601. */
  readonly time: string;
  readonly stream: LogStream;
  /** Number of the process, from 1. Null if the worker has only one process. */
  readonly replica: number | null;
  readonly text: string;
}

interface LogPage {
  readonly lines: readonly Omit<WorkerLine, "worker">[];
  readonly log_file: string;
  /** Position of the next lines. */
  readonly cursor: string;
  /** True if lines before these were lost. */
  readonly gap: boolean;
}

export interface LogQuery {
  readonly tail: number;
  readonly sinceMs?: number | undefined;
  readonly stream?: LogStream | undefined;
  readonly signal?: AbortSignal;
}

/** Maximum time that one request for new lines waits in the engine. */
const WAIT_MS = 20_000;
const ANSWER_MARGIN_MS = 10_000;
const RETRY_MS = 500;
/** Maximum number of lines in one page. If there are more, the next request returns them immediately. */
const PAGE_LINES = 1_000;

/** Returns the last lines of a worker's output, oldest first, and the cursor. */
export async function readLogs(
  engine: EngineCalls,
  worker: string,
  { tail, sinceMs, stream, signal }: LogQuery,
): Promise<{ readonly lines: readonly WorkerLine[]; readonly cursor: string; readonly logFile: string }> {
  const page = await engine.call<LogPage>({
    function_id: "worker::logs",
    payload: { name: worker, tail, since_ms: sinceMs, stream },
    ...(signal && { signal }),
  });
  return { lines: page.lines.map((line) => ({ ...line, worker })), cursor: page.cursor, logFile: page.log_file };
}

export interface Following {
  readonly cursor: string;
  readonly stream?: LogStream | undefined;
  /** Aborting it stops following. The promise then resolves. */
  readonly signal: AbortSignal;
  readonly onLine: (line: WorkerLine) => void;
  /** Called with the new cursor after the lines of each page. */
  readonly onCursor?: (cursor: string) => void;
  /** Called when lines were removed with their file before they could be read. */
  readonly onGap?: () => void;
  /** Called once when the engine stops responding. `onBack` is called when the engine responds again. */
  readonly onLost?: () => void;
  readonly onBack?: () => void;
}

/** Returns true if the engine does not know the worker, or no longer knows it. */
export function isGone(error: unknown): boolean {
  return CallError.is(error) && error.code === "worker_not_found";
}

/**
 * Passes new lines of a worker to `onLine` until the signal aborts. Continues after restarts of the engine. Resolves
 * with `gone` when the engine no longer knows the worker. Rejects because of other errors.
 */
export async function followLogs(
  engine: EngineCalls,
  worker: string,
  { cursor, stream, signal, onLine, onGap, onCursor, onLost, onBack }: Following,
): Promise<"stopped" | "gone"> {
  let at = cursor;
  let isLost = false;
  while (!signal.aborted) {
    try {
      const payload = { name: worker, cursor: at, stream, tail: PAGE_LINES, wait_ms: WAIT_MS };
      const page = await engine.call<LogPage>({
        function_id: "worker::logs",
        payload,
        timeoutMs: WAIT_MS + ANSWER_MARGIN_MS,
        signal,
      });
      if (isLost) onBack?.();
      isLost = false;
      at = page.cursor;
      if (page.gap) onGap?.();
      for (const line of page.lines) onLine({ ...line, worker });
      onCursor?.(at);
    } catch (error) {
      if (signal.aborted) break;
      if (isGone(error)) return "gone";
      if (!isTransient(error)) throw error;
      if (!isLost) onLost?.();
      isLost = true;
      await pause(RETRY_MS, undefined, { signal }).catch(() => {});
    }
  }
  return "stopped";
}
