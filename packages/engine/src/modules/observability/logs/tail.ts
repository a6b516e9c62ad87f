import { CallError } from "@svc/protocol";
import { z } from "zod";
import type { Clock } from "../../../kernel/clock.ts";
import { readCursor, writeCursor } from "../query/cursor.ts";
import { type LogFilter, logSelector } from "./log-filter.ts";
import { invalidInput } from "./log-filter-input.ts";
import type { StoredLog } from "./log-store.ts";
import type { RecentLogs } from "./recent-logs.ts";

/** Calls that wait at once. */
const MAX_WAITING = 200;
/** A waiting call looks again at most this often, in milliseconds: each look is a search. */
const LOOK_EVERY_MS = 50;

const cursorParts = z.tuple([z.int().min(0)]);

export interface TailAnswer {
  readonly entries: readonly StoredLog[];
  readonly cursor: string;
  /** Entries after the cursor, matching or not, that were gone before they could be looked at. */
  readonly dropped: number;
}

/** Hands out entries as they come to callers that ask again and again, each from where it left off. */
export class Tail {
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
   * Matches after the cursor, at most `limit`; when there is none it waits for one up to `waitMs`. Without a cursor it begins with what comes from now on. Throws
   * `overloaded` when too many wait.
   */
  async next(request: {
    readonly after: string | null | undefined;
    readonly filter: LogFilter;
    readonly limit: number;
    readonly waitMs: number;
    readonly signal: AbortSignal;
  }): Promise<TailAnswer> {
    const { filter, limit, signal } = request;
    const select = logSelector(filter, invalidInput);
    const until = this.#clock.monotonic() + request.waitMs;
    let id = request.after == null ? this.#recent.lastId : Math.min(readCursor("logs.tail", request.after, cursorParts)[0], this.#recent.lastId);
    let dropped = 0;
    for (;;) {
      const behind = this.#recent.after(id);
      dropped += behind.dropped;
      const matching = select(behind.entries);
      const entries = matching.slice(0, limit);
      id = matching.length > limit ? (entries[limit - 1] as StoredLog).id : this.#recent.lastId;
      const leftMs = until - this.#clock.monotonic();
      if (entries.length > 0 || leftMs <= 0 || signal.aborted || this.#draining.aborted) return { entries, dropped, cursor: writeCursor("logs.tail", [id]) };
      await this.#wait(leftMs, signal);
    }
  }

  /** Until just after the next entry, the time is over, the caller goes or the engine is about to end. */
  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#waiting >= MAX_WAITING) throw new CallError("overloaded", `${MAX_WAITING} calls wait for log entries already; try again shortly`);
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
        // The entries of a moment are told together.
        cancel = this.#clock.after(Math.min(ms, LOOK_EVERY_MS), done);
      });
      // Who follows the log must not keep the engine from ending.
      for (const end of [signal, this.#draining]) end.addEventListener("abort", done, { once: true });
    });
    this.#waiting -= 1;
  }
}
