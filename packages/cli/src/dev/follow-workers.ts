import { setTimeout as pause } from "node:timers/promises";
import { isTransient } from "../engine/engine-session.ts";
import { type EngineCalls, listWorkers } from "../workers/worker-functions.ts";
import { followLogs, isGone, readLogs, type WorkerLine } from "../workers/worker-logs.ts";

/**
 * Interval at which the workers are listed, in milliseconds. They are listed again because the config file may change.
 */
const LIST_INTERVAL_MS = 1_000;
/** Maximum number of older lines that are shown of a worker when it is first listed. */
const FIRST_LINES = 1_000;

export interface FollowedWorkers {
  readonly sinceMs: number;
  readonly signal: AbortSignal;
  readonly onLine: (line: WorkerLine) => void;
  /** Called with a message if lines are missing. Called once for each message. Following is tried again in any case. */
  readonly onProblem: (message: string) => void;
}

/**
 * Calls `onLine` once for each line that workers of the config file write from `sinceMs` on, including workers added
 * later. Resolves when the signal aborts.
 */
export async function followWorkers(
  engine: EngineCalls,
  { sinceMs, signal, onLine, onProblem }: FollowedWorkers,
): Promise<void> {
  const followed = new Map<string, Promise<void>>();
  /**
   * Cursors by worker. They are kept when a worker is removed, so that following continues there if it is added again.
   */
  const cursors = new Map<string, string>();
  const reported = new Set<string>();
  const reportOnce = (what: string, error: unknown): void => {
    // These errors mean that the engine or the worker is stopping. The loop below tries again.
    if (signal.aborted || isTransient(error) || isGone(error)) return;
    const message = `${what}: ${error instanceof Error ? error.message : String(error)}`;
    if (!reported.has(message)) onProblem(message);
    reported.add(message);
  };
  const begin = async (worker: string): Promise<string> => {
    const { lines, cursor } = await readLogs(engine, worker, { tail: FIRST_LINES, sinceMs, signal });
    for (const line of lines) onLine(line);
    cursors.set(worker, cursor);
    return cursor;
  };
  const follow = async (worker: string): Promise<void> => {
    try {
      const cursor = cursors.get(worker) ?? (await begin(worker));
      await followLogs(engine, worker, { cursor, signal, onLine, onCursor: (at) => cursors.set(worker, at) });
    } catch (error) {
      reportOnce(`Cannot show the output of ${worker}`, error);
    } finally {
      followed.delete(worker);
    }
  };
  while (!signal.aborted) {
    try {
      for (const { name, kind } of await listWorkers(engine, { signal }))
        if (kind !== "module" && !followed.has(name)) followed.set(name, follow(name));
    } catch (error) {
      reportOnce("Cannot list the workers", error);
    }
    await pause(LIST_INTERVAL_MS, undefined, { signal }).catch(() => {});
  }
  await Promise.all(followed.values());
}
