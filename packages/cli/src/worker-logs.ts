import { setTimeout as pause } from "node:timers/promises";
import { CallError } from "@svc/protocol";
import { isAway } from "./engine-away.ts";
import type { EngineCalls } from "./worker-functions.ts";

export type LogStream = "out" | "err" | "install" | "svc";

/** One line of a worker's output, as `worker::logs` tells it. */
export interface WorkerLine {
  readonly worker: string;
  /** ISO 8601. */
  readonly time: string;
  readonly stream: LogStream;
  /** Which of its processes, from 1; null where there is one only. */
  readonly replica: number | null;
  readonly text: string;
}

interface LogPage {
  readonly lines: readonly Omit<WorkerLine, "worker">[];
  readonly log_file: string;
  /** Where the next lines begin. */
  readonly cursor: string;
  /** Lines before these are lost. */
  readonly gap: boolean;
}

export interface LogQuery {
  readonly tail: number;
  readonly sinceMs?: number | undefined;
  readonly stream?: LogStream | undefined;
}

/** How long one question for new lines may wait in the engine. */
const WAIT_MS = 20_000;
const ANSWER_MARGIN_MS = 10_000;
const RETRY_MS = 500;
/** Lines of one answer while following; the next question asks for the rest at once. */
const PAGE_LINES = 1_000;

/** The last lines of a worker's output, oldest first, and where to go on. */
export async function readLogs(
  engine: EngineCalls,
  worker: string,
  { tail, sinceMs, stream }: LogQuery,
): Promise<{ readonly lines: readonly WorkerLine[]; readonly cursor: string; readonly logFile: string }> {
  const page = await engine.call<LogPage>({ function_id: "worker::logs", payload: { name: worker, tail, since_ms: sinceMs, stream } });
  return { lines: page.lines.map((line) => ({ ...line, worker })), cursor: page.cursor, logFile: page.log_file };
}

export interface Following {
  readonly cursor: string;
  readonly stream?: LogStream | undefined;
  /** Ends it; the promise then resolves. */
  readonly signal: AbortSignal;
  readonly onLine: (line: WorkerLine) => void;
  /** Told where to go on, after each answer's lines. */
  readonly onCursor?: (cursor: string) => void;
  /** Told when lines were removed with their file before they could be read. */
  readonly onGap?: () => void;
  /** Told once when the engine does not answer, until it does again. */
  readonly onLost?: () => void;
  readonly onBack?: () => void;
}

/** The engine does not know the worker, or does no longer. */
export function isGone(error: unknown): boolean {
  return CallError.is(error) && error.code === "worker_not_found";
}

/**
 * Hands over each further line of a worker until the signal aborts, also over a restart of the engine. Answers `gone` when the engine no
 * longer knows the worker; rejects when it refuses to tell.
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
      const page = await engine.call<LogPage>({ function_id: "worker::logs", payload, timeout_ms: WAIT_MS + ANSWER_MARGIN_MS, signal });
      if (isLost) onBack?.();
      isLost = false;
      at = page.cursor;
      if (page.gap) onGap?.();
      for (const line of page.lines) onLine({ ...line, worker });
      onCursor?.(at);
    } catch (error) {
      if (signal.aborted) break;
      if (isGone(error)) return "gone";
      if (!isAway(error)) throw error;
      if (!isLost) onLost?.();
      isLost = true;
      await pause(RETRY_MS, undefined, { signal }).catch(() => {});
    }
  }
  return "stopped";
}
