import { setTimeout as after } from "node:timers/promises";
import { CallError } from "@svc/protocol";
import type { Worker } from "@svc/sdk";
import type { StoredLog } from "./stored-log-lines.ts";

/** Filters as `engine::logs::*` take them. */
export type LogQuery = Readonly<Record<string, unknown>>;

const WAIT_MS = 20_000;
/** The engine answers by its own deadline; ours only guards against one that stopped answering. */
const ANSWER_MARGIN_MS = 10_000;
/** Between two tries while the engine is away. */
const RETRY_MS = 500;
const PAGE = 1_000;

export interface Follower {
  readonly query: LogQuery;
  /** How many entries to begin with; those from before are found by `query`. */
  readonly tail: number;
  readonly signal: AbortSignal;
  show(entries: readonly StoredLog[]): void;
  /** Entries came too fast to be told one by one; so many are left out. */
  dropped(count: number): void;
  /** The engine went away, or is there again. */
  connection(state: "lost" | "back"): void;
}

/** The last entries that match, oldest first. */
export async function lastLogs(engine: Worker, query: LogQuery, limit: number): Promise<readonly StoredLog[]> {
  if (limit === 0) return [];
  const { logs } = await engine.call<{ readonly logs: readonly StoredLog[] }>({ function_id: "engine::logs::list", payload: { ...query, limit } });
  return logs.toReversed();
}

/**
 * Shows the last entries, then each that comes, until the signal aborts. Goes on after a restart of the engine, with what was logged meanwhile as far
 * as the engine still has it.
 */
export async function followLogs(engine: Worker, follower: Follower): Promise<void> {
  const { query, tail, signal } = follower;
  const seen = new SeenLogs(follower);
  // Asked for before the last entries are read: what is logged between the two comes twice, and not never.
  let cursor = (await tailAfter(engine, follower, { waitMs: 0 })).cursor;
  seen.show(await lastLogs(engine, query, tail));
  let isAway = false;
  while (!signal.aborted) {
    try {
      const page = isAway ? await resumed(engine, follower, seen) : await tailAfter(engine, follower, { after: cursor, waitMs: WAIT_MS });
      if (isAway) follower.connection("back");
      isAway = false;
      if (page.dropped > 0) follower.dropped(page.dropped);
      seen.show(page.logs);
      cursor = page.cursor;
    } catch (error) {
      if (signal.aborted) return;
      if (!isGone(error)) throw error;
      if (!isAway) follower.connection("lost");
      isAway = true;
      await after(RETRY_MS);
    }
  }
}

interface Page {
  readonly logs: readonly StoredLog[];
  readonly cursor: string | null;
  readonly dropped: number;
}

async function tailAfter(
  engine: Worker,
  { query, signal }: Follower,
  { after: cursor, waitMs }: { readonly after?: string | null; readonly waitMs: number },
): Promise<Page> {
  const payload = { ...query, after: cursor, wait_ms: waitMs, limit: PAGE };
  return engine.call<Page>({ function_id: "engine::logs::tail", payload, timeout_ms: waitMs + ANSWER_MARGIN_MS, signal });
}

/** A cursor is of one run of the engine. After a restart what is new is found by its time. */
async function resumed(engine: Worker, follower: Follower, seen: SeenLogs): Promise<Page> {
  const now = await tailAfter(engine, follower, { waitMs: 0 });
  const logs = await lastLogs(engine, { ...follower.query, start_time: seen.latestMs }, PAGE);
  return { ...now, logs: [...logs, ...now.logs] };
}

/** The engine is not there just now, or is about to go. */
function isGone(error: unknown): boolean {
  return CallError.is(error) && ["disconnected", "draining", "call_timeout", "function_not_found", "call_cancelled", "invocation_stopped"].includes(error.code);
}

/** Shows each entry once. */
class SeenLogs {
  readonly #show: Follower["show"];
  /** Of the entries at and shortly before the latest time: nothing older comes a second time. */
  #keys = new Map<string, number>();
  latestMs = 0;

  constructor({ show, query }: Follower) {
    this.#show = show;
    this.latestMs = typeof query.start_time === "number" ? query.start_time : Date.now();
  }

  show(entries: readonly StoredLog[]): void {
    const fresh = entries.filter((entry) => {
      const key = keyOf(entry);
      const isNew = !this.#keys.has(key);
      this.#keys.set(key, entry.timestamp_ms);
      return isNew;
    });
    if (fresh.length > 0) this.#show(fresh);
    this.latestMs = fresh.reduce((latest, { timestamp_ms }) => Math.max(latest, timestamp_ms), this.latestMs);
    while (this.#keys.size > 2 * PAGE) for (const key of [...this.#keys.keys()].slice(0, PAGE)) this.#keys.delete(key);
  }
}

/** By what it says: ids begin anew when the engine does and keeps its entries in memory. */
function keyOf({ timestamp_ms, service_name, body }: StoredLog): string {
  return `${timestamp_ms} ${service_name} ${body}`;
}
