import { setTimeout as pause } from "node:timers/promises";
import type { Worker } from "@svc/sdk";
import { listWorkers } from "../worker-functions.ts";
import { followLogs, readLogs, type WorkerLine } from "../worker-logs.ts";

/** Workers come and go with the config file. */
const LOOK_EVERY_MS = 1_000;
/** Lines of a worker from before it was first seen. */
const FIRST_LINES = 1_000;

/** Hands over what each worker of the config file writes from `sinceMs` on, also those that are added later. Resolves when the signal aborts. */
export async function followWorkers(
  engine: Worker,
  { sinceMs, signal, onLine }: { readonly sinceMs: number; readonly signal: AbortSignal; readonly onLine: (line: WorkerLine) => void },
): Promise<void> {
  const followed = new Map<string, Promise<void>>();
  const follow = async (worker: string): Promise<void> => {
    try {
      const { lines, cursor } = await readLogs(engine, worker, { tail: FIRST_LINES, sinceMs });
      for (const line of lines) onLine(line);
      await followLogs(engine, worker, { cursor, signal, onLine });
    } catch {
      // The engine is on its way out, or the worker is: it is looked for again below while we are not.
    } finally {
      followed.delete(worker);
    }
  };
  while (!signal.aborted) {
    const workers = await listWorkers(engine).catch(() => []);
    for (const { name, kind } of workers) if (kind !== "module" && !followed.has(name)) followed.set(name, follow(name));
    await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
  }
  await Promise.all(followed.values());
}
