import { setTimeout as pause } from "node:timers/promises";
import { isAway } from "../engine-away.ts";
import { type EngineCalls, listWorkers } from "../worker-functions.ts";
import { followLogs, isGone, readLogs, type WorkerLine } from "../worker-logs.ts";

/** Workers come and go with the config file. */
const LOOK_EVERY_MS = 1_000;
/** Lines of a worker from before it was first seen. */
const FIRST_LINES = 1_000;

export interface FollowedWorkers {
  readonly sinceMs: number;
  readonly signal: AbortSignal;
  readonly onLine: (line: WorkerLine) => void;
  /** Told in a sentence why lines are missing, once for each reason; it is tried again all the same. */
  readonly onProblem: (message: string) => void;
}

/** Hands over what each worker of the config file writes from `sinceMs` on, also those that are added later, each line once. Resolves when the signal aborts. */
export async function followWorkers(engine: EngineCalls, { sinceMs, signal, onLine, onProblem }: FollowedWorkers): Promise<void> {
  const followed = new Map<string, Promise<void>>();
  /** Kept when a worker is gone: added again, it goes on writing where it ended. */
  const cursors = new Map<string, string>();
  const told = new Set<string>();
  const tell = (what: string, error: unknown): void => {
    // The engine is on its way out, or the worker is: it is looked for again below while we are not.
    if (signal.aborted || isAway(error) || isGone(error)) return;
    const message = `${what}: ${error instanceof Error ? error.message : String(error)}`;
    if (!told.has(message)) onProblem(message);
    told.add(message);
  };
  const begin = async (worker: string): Promise<string> => {
    const { lines, cursor } = await readLogs(engine, worker, { tail: FIRST_LINES, sinceMs });
    for (const line of lines) onLine(line);
    cursors.set(worker, cursor);
    return cursor;
  };
  const follow = async (worker: string): Promise<void> => {
    try {
      const cursor = cursors.get(worker) ?? (await begin(worker));
      await followLogs(engine, worker, { cursor, signal, onLine, onCursor: (at) => cursors.set(worker, at) });
    } catch (error) {
      tell(`The output of ${worker} cannot be shown`, error);
    } finally {
      followed.delete(worker);
    }
  };
  while (!signal.aborted) {
    try {
      for (const { name, kind } of await listWorkers(engine)) if (kind !== "module" && !followed.has(name)) followed.set(name, follow(name));
    } catch (error) {
      tell("The workers cannot be listed", error);
    }
    await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
  }
  await Promise.all(followed.values());
}
