import { Worker } from "node:worker_threads";
import type { Clock } from "../kernel/clock.ts";
import { type DriverName, defaultDriver, type SqlRow, type SqlValue } from "./driver.ts";

/** Data that the thread is started with. */
export interface QueryThreadStart {
  readonly file: string;
  readonly driver: DriverName;
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
  /** The first byte is set to 1 when the result is no longer needed. */
  readonly cancelled: SharedArrayBuffer;
}

export interface QueryThreadOptions {
  /** Absolute path of the database. Other connections may use it at the same time. */
  readonly file: string;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /**
   * Cancels the call: before the statement starts, or after it ends, because a running statement cannot be interrupted.
   */
  readonly signal: AbortSignal;
  /** Default: `defaultDriver()`. */
  readonly driver?: DriverName | undefined;
}

/**
 * Runs a statement on a database in a separate thread, while reads and writes continue. Resolves with its rows. Rejects
 * with an Error.
 */
export async function runInThread(
  sql: string,
  parameters: readonly SqlValue[],
  options: QueryThreadOptions,
): Promise<readonly SqlRow[]> {
  const { file, driver, clock, timeoutMs, signal } = options;
  signal.throwIfAborted();
  const cancelled = new SharedArrayBuffer(1);
  const start: QueryThreadStart = { file, driver: driver ?? defaultDriver(), sql, parameters, cancelled };
  const worker = new Worker(new URL("./query-thread-entry.js", import.meta.url), {
    workerData: start,
    name: "svc-store-query",
  });
  let rows: readonly SqlRow[] | undefined;
  let failure = new Error("the thread ended without an error message");
  let reason: string | undefined;
  worker.once("message", (message: readonly SqlRow[]) => {
    rows = message;
  });
  worker.once("error", (error) => {
    failure = error instanceof Error ? error : new Error(String(error));
  });
  // Never terminates the thread: libsql aborts the process when its thread is terminated during a statement.
  const end = (why: string): void => {
    reason ??= why;
    Atomics.store(new Uint8Array(cancelled), 0, 1);
  };
  const onAbort = (): void => end("the store is closing");
  signal.addEventListener("abort", onAbort, { once: true });
  const cancel = clock.after(timeoutMs, () => end(`it took longer than ${timeoutMs} ms`));
  // Wait for the exit, also after a cancellation: the thread runs until its statement ends, and a statement that writes
  // must not write after this promise has settled.
  await new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  cancel();
  signal.removeEventListener("abort", onAbort);
  if (reason !== undefined) throw new Error(reason);
  if (rows === undefined) throw failure;
  return rows;
}

/** Timeout of an integrity check, in milliseconds. */
const CHECK_TIMEOUT_MS = 60 * 60_000;

/**
 * Checks pages, indexes and constraints of a database that is in use. Resolves with the problems, or undefined if there
 * are none.
 */
export async function integrityProblem(options: Omit<QueryThreadOptions, "timeoutMs">): Promise<string | undefined> {
  const rows = await runInThread("PRAGMA integrity_check(3)", [], { ...options, timeoutMs: CHECK_TIMEOUT_MS });
  const problems = rows.map((row) => String(row.integrity_check).replaceAll("\n", " "));
  return problems.length === 1 && problems[0] === "ok" ? undefined : problems.join("; ");
}
