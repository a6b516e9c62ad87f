import { setTimeout as after } from "node:timers/promises";
import type { Worker } from "@svc-runtime/sdk";
import { isTransient } from "../engine/engine-session.ts";
import type { StoredLog } from "./stored-log-lines.ts";

type Caller = Pick<Worker, "call">;

/** Filters of the `engine::logs` functions. */
export type LogQuery = Readonly<Record<string, unknown>>;

const WAIT_MS = 20_000;
/** Time that is added to the engine's own time limit, in milliseconds, in case that the engine stops responding. */
const ANSWER_MARGIN_MS = 10_000;
/** Retry interval while the engine is disconnected, in milliseconds. */
const RETRY_MS = 500;
const PAGE = 1_000;

export interface Follower {
  readonly query: LogQuery;
  /** Number of earlier entries to show first. They are filtered by `query` too. */
  readonly tail: number;
  readonly signal: AbortSignal;
  show(entries: readonly StoredLog[]): void;
  /** Called with the number of entries that were skipped because they arrived too fast. */
  dropped(count: number): void;
  /** Called when the connection is lost or restored. */
  connection(state: "lost" | "back"): void;
}

/** Returns the last matching entries. The oldest one is the first. */
export async function lastLogs(engine: Caller, query: LogQuery, limit: number): Promise<LastLogs> {
  return limit === 0 ? { logs: [] } : newest(engine, query, limit);
}

interface LastLogs {
  readonly logs: readonly StoredLog[];
  /** Engines of a cluster that did not answer. */
  readonly missing?: readonly string[];
}

/** Like `lastLogs`, but returns the total number of matching entries too. */
async function newest(engine: Caller, query: LogQuery, limit: number): Promise<LastLogs & { readonly total: number }> {
  const payload = { ...query, limit };
  const { logs, total, missing } = await engine.call<LastLogs & { readonly total: number }>({
    function_id: "engine::logs::list",
    payload,
  });
  return { logs: logs.toReversed(), total, ...(missing === undefined ? {} : { missing }) };
}

/**
 * Shows the last entries, and then new ones until the signal aborts. After a restart of the engine, it continues with
 * the entries that were logged in between, if the engine still has them.
 */
export async function followLogs(engine: Caller, follower: Follower): Promise<void> {
  const { query, tail, signal } = follower;
  const seen = new SeenLogs(query);
  const show = (entries: readonly StoredLog[]): void => {
    if (entries.length > 0) follower.show(entries);
  };
  // Get the cursor before the last entries. An entry that is logged in between then arrives twice, instead of never.
  let cursor = (await tailAfter(engine, follower, { waitMs: 0 })).cursor;
  show(seen.added((await lastLogs(engine, query, tail)).logs));
  // Only the first page after the cursor can repeat entries that were shown at the start.
  let mayOverlap = true;
  let isLost = false;
  while (!signal.aborted) {
    try {
      const page = isLost
        ? await resumed(engine, follower, seen)
        : await tailAfter(engine, follower, { after: cursor, waitMs: WAIT_MS });
      const fresh = mayOverlap || isLost ? seen.unseen(page.logs) : page.logs;
      if (isLost) follower.connection("back");
      if (page.dropped > 0) follower.dropped(page.dropped);
      show(seen.added(fresh));
      mayOverlap = isLost;
      isLost = false;
      cursor = page.cursor;
    } catch (error) {
      if (signal.aborted) return;
      if (!isTransient(error)) throw error;
      if (!isLost) follower.connection("lost");
      isLost = true;
      await after(RETRY_MS, undefined, { signal }).catch(() => {});
    }
  }
}

interface Page {
  readonly logs: readonly StoredLog[];
  readonly cursor: string | null;
  readonly dropped: number;
}

async function tailAfter(
  engine: Caller,
  { query, signal }: Follower,
  { after: cursor, waitMs }: { readonly after?: string | null; readonly waitMs: number },
): Promise<Page> {
  const payload = { ...query, after: cursor, wait_ms: waitMs, limit: PAGE };
  return engine.call<Page>({
    function_id: "engine::logs::tail",
    payload,
    timeoutMs: waitMs + ANSWER_MARGIN_MS,
    signal,
  });
}

/**
 * Continues after a restart of the engine. A cursor is valid only for one run of the engine, so new entries are found
 * by their time.
 */
async function resumed(engine: Caller, follower: Follower, seen: SeenLogs): Promise<Page> {
  const { cursor } = await tailAfter(engine, follower, { waitMs: 0 });
  const { logs, total } = await newest(engine, { ...follower.query, start_time: seen.latestMs }, PAGE);
  const shownBefore = seen.countSince(seen.latestMs) - (logs.length - seen.unseen(logs).length);
  return { logs, cursor, dropped: Math.max(0, total - logs.length - shownBefore) };
}

/** Entries that were shown recently. They are used to remove duplicates where two pages overlap. */
class SeenLogs {
  readonly #timesByKey = new Map<string, number>();
  latestMs: number;

  constructor({ start_time }: LogQuery) {
    this.latestMs = typeof start_time === "number" ? start_time : Date.now();
  }

  unseen(entries: readonly StoredLog[]): readonly StoredLog[] {
    return entries.filter((entry) => !this.#timesByKey.has(keyOf(entry)));
  }

  /** Records the entries and returns them. */
  added(entries: readonly StoredLog[]): readonly StoredLog[] {
    for (const entry of entries) {
      this.#timesByKey.set(keyOf(entry), entry.timestamp_ms);
      this.latestMs = Math.max(this.latestMs, entry.timestamp_ms);
    }
    while (this.#timesByKey.size > 2 * PAGE)
      for (const key of [...this.#timesByKey.keys()].slice(0, PAGE)) this.#timesByKey.delete(key);
    return entries;
  }

  countSince(ms: number): number {
    return [...this.#timesByKey.values()].filter((timeMs) => timeMs >= ms).length;
  }
}

/**
 * Returns the key of an entry. It contains the time, because ids repeat if the clock was set back. Otherwise ids
 * increase across restarts of the engine.
 */
function keyOf({ id, timestamp_ms }: StoredLog): string {
  return `${id} ${timestamp_ms}`;
}
