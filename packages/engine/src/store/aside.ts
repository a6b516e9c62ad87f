import { Worker } from "node:worker_threads";
import type { Clock } from "../kernel/clock.ts";
import { type DriverName, defaultDriver, type SqlRow, type SqlValue } from "./driver.ts";

/** Given to the thread. */
export interface AsideStart {
  readonly file: string;
  readonly driver: DriverName;
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

export interface AsideOptions {
  /** The database; it may be in use. */
  readonly file: string;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Ends the work early. */
  readonly signal: AbortSignal;
  /** Default: what the runtime offers. */
  readonly driver?: DriverName | undefined;
}

/** Runs one statement on a database in a thread of its own, while others go on reading and writing it. Resolves with its rows. Rejects with an Error. */
export async function runAside(sql: string, parameters: readonly SqlValue[], options: AsideOptions): Promise<readonly SqlRow[]> {
  const { file, driver, clock, timeoutMs, signal } = options;
  signal.throwIfAborted();
  const start: AsideStart = { file, driver: driver ?? defaultDriver(), sql, parameters };
  const worker = new Worker(new URL("./aside-thread.js", import.meta.url), { workerData: start, name: "svc-store-aside" });
  let rows: readonly SqlRow[] | undefined;
  let failure = new Error("its thread ended without saying why");
  worker.once("message", (message: readonly SqlRow[]) => {
    rows = message;
  });
  worker.once("error", (error) => {
    failure = error instanceof Error ? error : new Error(String(error));
  });
  const end = (reason: string): void => {
    failure = new Error(reason);
    void worker.terminate();
  };
  const onAbort = (): void => end("the store is closing");
  signal.addEventListener("abort", onAbort, { once: true });
  const cancel = clock.after(timeoutMs, () => end(`it took longer than ${timeoutMs} ms`));
  // A thread that is ended stops when SQLite's statement does, so that nobody writes once this has settled.
  await new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  cancel();
  signal.removeEventListener("abort", onAbort);
  if (rows === undefined) throw failure;
  return rows;
}

/** How long the check of one database may take, in milliseconds. */
const CHECK_TIMEOUT_MS = 60 * 60_000;

/** Checks a database that is in use, in a thread of its own: pages, indexes against their tables, constraints. Resolves with what is wrong, undefined when nothing is. */
export async function integrityProblem(options: Omit<AsideOptions, "timeoutMs">): Promise<string | undefined> {
  const rows = await runAside("PRAGMA integrity_check(3)", [], { ...options, timeoutMs: CHECK_TIMEOUT_MS });
  const problems = rows.map((row) => String(row.integrity_check).replaceAll("\n", " "));
  return problems.length === 1 && problems[0] === "ok" ? undefined : problems.join("; ");
}
