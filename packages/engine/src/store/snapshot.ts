import { Worker } from "node:worker_threads";
import type { Clock } from "../kernel/clock.ts";
import { type DriverName, defaultDriver } from "./driver.ts";
import { threadUrl } from "./thread-url.ts";
import { writeWhole } from "./whole-file.ts";

/** Given to the thread. */
export interface SnapshotStart {
  readonly file: string;
  readonly draft: string;
  readonly driver: DriverName;
}

export interface SnapshotOptions {
  /** The database; it may be in use. */
  readonly file: string;
  /** Absolute; must not exist. */
  readonly target: string;
  readonly clock: Clock;
  /** Ends the work early. */
  readonly signal: AbortSignal;
  /** Default: what the runtime offers. */
  readonly driver?: DriverName;
}

/** How long writing a snapshot may take, in milliseconds. */
const SNAPSHOT_TIMEOUT_MS = 30 * 60_000;

/**
 * Copies a database as it is at one moment, compacted, while others go on reading and writing it. The copy is a database file that can be put in the
 * place of the original. Rejects with `storage_failed`; nothing is left behind then.
 */
export function snapshotDatabase(options: SnapshotOptions): Promise<{ readonly bytes: number }> {
  return writeWhole(options.target, (draft) => copyTo(draft, options));
}

async function copyTo(draft: string, { file, driver, clock, signal }: SnapshotOptions): Promise<void> {
  signal.throwIfAborted();
  const start: SnapshotStart = { file, draft, driver: driver ?? defaultDriver() };
  const worker = new Worker(threadUrl(new URL("./snapshot-thread.ts", import.meta.url)), { workerData: start, name: "svc-snapshot" });
  let failure: Error | undefined = new Error("its thread ended without saying why");
  worker.once("message", () => {
    failure = undefined;
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
  const cancel = clock.after(SNAPSHOT_TIMEOUT_MS, () => end(`it took longer than ${SNAPSHOT_TIMEOUT_MS} ms`));
  // A thread that is ended stops when SQLite's statement does, so that nobody writes the draft once this has settled.
  await new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  cancel();
  signal.removeEventListener("abort", onAbort);
  if (failure !== undefined) throw failure;
}
