import type { Clock } from "@svc-runtime/engine/module";
import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";
import { readCursor, writeCursor } from "../query/cursor.ts";
import { type LogFilter, NO_FILTER } from "./log-filter.ts";
import type { LogOrder, LogPosition, LogSource, LogStore, TallyRequest } from "./log-store.ts";
import { positionOf, Tally } from "./log-tally.ts";
import type { StoredLog } from "./stored-log.ts";

/**
 * Number of entries that are searched in one turn of the event loop (memory) or by one request to the store's thread
 * (disk).
 */
const ROWS_PER_SLICE = { memory: 250, disk: 2_000 } as const;
/** Maximum time of one query, in milliseconds. After it, the query returns a partial result. */
const QUERY_LIMIT_MS = 10_000;

/** Approximate maximum size of one list, in bytes. Entries beyond it are on the next page. */
export const MAX_LIST_BYTES = 8 * 1024 * 1024;

const cursorParts = z.tuple([z.string().regex(/^\d{1,20}$/), z.int().min(0)]);

export interface LogPage {
  readonly entries: readonly StoredLog[];
  readonly next: LogPosition | undefined;
}

export interface TallyOptions {
  readonly facets?: readonly string[];
  readonly histogram?: TallyRequest["histogram"];
}

/** Runs queries in slices, so that other work is not delayed. */
export class LogQueries {
  readonly #store: LogStore;
  readonly #clock: Clock;
  readonly #limitMs: number;

  /** `limitMs` is the maximum time of a query in milliseconds; the default is 10 s. */
  constructor(parts: { readonly store: LogStore; readonly clock: Clock; readonly limitMs?: number }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#limitMs = parts.limitMs ?? QUERY_LIMIT_MS;
  }

  /** Returns a page of matches after the position `after`, without the first `skip` matches. */
  async page(query: {
    readonly filter: LogFilter;
    readonly order: LogOrder;
    readonly limit: number;
    readonly after?: LogPosition | undefined;
    readonly skip?: number | undefined;
    readonly source?: LogSource;
  }): Promise<LogPage> {
    const source = query.source ?? (await this.#store.open());
    const until = this.#clock.monotonic() + this.#limitMs;
    const { filter, order, limit } = query;
    let skip = query.skip ?? 0;
    let after = query.after;
    const entries: StoredLog[] = [];
    for (;;) {
      const slice = await source.page({
        filter,
        order,
        after,
        limit: skip + limit - entries.length,
        rows: ROWS_PER_SLICE[this.#store.kind],
      });
      entries.push(...slice.entries.slice(skip));
      skip = Math.max(0, skip - slice.entries.length);
      after = slice.next;
      if (after === undefined || entries.length >= limit) return { entries, next: after };
      if (this.#clock.monotonic() >= until) return { entries, next: after };
      await turn();
    }
  }

  /** Counts all matches. `isWhole` is false if the time ran out. */
  async tally(
    filter: LogFilter,
    options: TallyOptions = {},
    source?: LogSource,
  ): Promise<{ readonly tally: Tally; readonly isWhole: boolean }> {
    const from = source ?? (await this.#store.open());
    const until = this.#clock.monotonic() + this.#limitMs;
    const request = {
      filter,
      facets: options.facets ?? [],
      histogram: options.histogram,
      rows: ROWS_PER_SLICE[this.#store.kind],
    };
    const tally = new Tally(request);
    let after: LogPosition | undefined;
    for (;;) {
      const slice = await from.tally({ ...request, after });
      tally.merge(slice);
      after = slice.next;
      if (after === undefined) return { tally, isWhole: true };
      if (this.#clock.monotonic() >= until) return { tally, isWhole: false };
      await turn();
    }
  }

  /** Returns the newest `limit` matches and their total number, from one snapshot. */
  async list(query: {
    readonly filter: LogFilter;
    readonly order: LogOrder;
    readonly limit: number;
    readonly skip: number;
    readonly after: LogPosition | undefined;
  }): Promise<LogPage & { readonly total: number; readonly isWhole: boolean }> {
    const source = await this.#store.open();
    const page = await this.page({ ...query, source });
    const { tally, isWhole } = await this.tally(query.filter, {}, source);
    return { ...page, total: tally.total, isWhole };
  }

  async get(id: number): Promise<StoredLog> {
    const entry = await this.#store.get(id);
    if (entry === undefined) throw new CallError("NOT_FOUND", `log entry ${id} not found; it may have been evicted`);
    return entry;
  }

  /** Returns an entry with its neighbours in time, newest first. */
  async around(
    id: number,
    options: { readonly before: number; readonly after: number; readonly filter?: LogFilter },
  ): Promise<LogJsonParts> {
    const entry = await this.get(id);
    const source = await this.#store.open();
    const common = { filter: options.filter ?? NO_FILTER, after: positionOf(entry), source };
    const older = await this.page({ ...common, order: "desc", limit: options.before });
    const newer = await this.page({ ...common, order: "asc", limit: options.after });
    return {
      entries: [...newer.entries].reverse().concat(entry, older.entries),
      moreBefore: older.next !== undefined,
      moreAfter: newer.next !== undefined,
    };
  }
}

export interface LogJsonParts {
  readonly entries: readonly StoredLog[];
  readonly moreBefore: boolean;
  readonly moreAfter: boolean;
}

export function cursorOf(order: LogOrder, position: LogPosition | undefined): string | null {
  return position === undefined ? null : writeCursor(`logs.${order}`, [String(position.timeUnixNano), position.id]);
}

/** Throws `invalid_input` for a cursor of another function or order. */
export function positionIn(order: LogOrder, cursor: string | null | undefined): LogPosition | undefined {
  if (cursor == null) return undefined;
  const [timeUnixNano, id] = readCursor(`logs.${order}`, cursor, cursorParts);
  return { timeUnixNano: BigInt(timeUnixNano), id };
}

/** Yields to the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
