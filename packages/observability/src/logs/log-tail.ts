import type { Clock } from "@svc-runtime/engine/module";
import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";
import { readCursor, writeCursor } from "../query/cursor.ts";
import { type LogFilter, logSelector } from "./log-filter.ts";
import { invalidInput } from "./log-filter-input.ts";
import type { RecentLogs } from "./recent-logs.ts";
import type { StoredLog } from "./stored-log.ts";

const MAX_WAITING = 200;
/** Minimum time between two searches of a waiting call, in milliseconds. */
const SEARCH_EVERY_MS = 50;

const cursorParts = z.tuple([z.int().min(0)]);

export interface TailResult {
  readonly entries: readonly StoredLog[];
  readonly cursor: string;
  /**
   * Number of entries after the cursor that were evicted before they were searched. It includes entries that would not
   * match.
   */
  readonly dropped: number;
}

/** Returns new entries to callers that poll, each from its own cursor. */
export class LogTail {
  readonly #recent: RecentLogs;
  readonly #clock: Clock;
  readonly #draining: AbortSignal;
  #waiting = 0;

  constructor(parts: { readonly recent: RecentLogs; readonly clock: Clock; readonly draining: AbortSignal }) {
    this.#recent = parts.recent;
    this.#clock = parts.clock;
    this.#draining = parts.draining;
  }

  /**
   * Returns at most `limit` matches after the cursor. If there are none, it waits for up to `waitMs`. Without a cursor,
   * it returns only entries that arrive from now on. Throws `overloaded` if too many calls wait.
   */
  async next(request: {
    readonly after: string | null | undefined;
    readonly filter: LogFilter;
    readonly limit: number;
    readonly waitMs: number;
    readonly signal: AbortSignal;
  }): Promise<TailResult> {
    const { filter, limit, signal } = request;
    const select = logSelector(filter, invalidInput);
    const until = this.#clock.monotonic() + request.waitMs;
    let id =
      request.after == null
        ? this.#recent.lastId
        : Math.min(readCursor("logs.tail", request.after, cursorParts)[0], this.#recent.lastId);
    let dropped = 0;
    for (;;) {
      const behind = this.#recent.after(id);
      dropped += behind.dropped;
      const matching = select(behind.entries);
      const entries = matching.slice(0, limit);
      id = matching.length > limit ? (entries[limit - 1] as StoredLog).id : this.#recent.lastId;
      const leftMs = until - this.#clock.monotonic();
      if (entries.length > 0 || leftMs <= 0 || signal.aborted || this.#draining.aborted)
        return { entries, dropped, cursor: writeCursor("logs.tail", [id]) };
      await this.#wait(leftMs, signal);
    }
  }

  /**
   * Resolves in four cases: shortly after the next entry, at the timeout, when the caller disconnects, or when the
   * engine drains.
   */
  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#waiting >= MAX_WAITING)
      throw new CallError(
        "overloaded",
        `the limit of ${MAX_WAITING} calls that wait for log entries is reached; try again later`,
      );
    this.#waiting += 1;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        cancel();
        undo();
        for (const end of [signal, this.#draining]) end.removeEventListener("abort", done);
        resolve();
      };
      let cancel = this.#clock.after(ms, done);
      const undo = this.#recent.onEntry(() => {
        undo();
        cancel();
        // Waits a little longer, so that entries that arrive together are returned together.
        cancel = this.#clock.after(Math.min(ms, SEARCH_EVERY_MS), done);
      });
      // A waiting call must not delay the engine's shutdown.
      for (const end of [signal, this.#draining]) end.addEventListener("abort", done, { once: true });
    });
    this.#waiting -= 1;
  }
}
