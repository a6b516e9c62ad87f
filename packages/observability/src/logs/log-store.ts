import type { Awaitable } from "@svc-runtime/engine/module";
import type { LogFilter } from "./log-filter.ts";
import type { StoredLog } from "./stored-log.ts";

/** A position in time order; entries with the same time are ordered by id. */
export interface LogPosition {
  readonly timeUnixNano: bigint;
  readonly id: number;
}

export type LogOrder = "asc" | "desc";

/** Counts by facet name and value. */
export type FacetCounts = ReadonlyMap<string, ReadonlyMap<string, number>>;

export interface PageRequest {
  readonly filter: LogFilter;
  readonly order: LogOrder;
  /** Position after which the page begins, in the requested order. */
  readonly after: LogPosition | undefined;
  readonly limit: number;
  /** Maximum number of entries to search in one turn. */
  readonly rows: number;
}

export interface PageSlice {
  readonly entries: readonly StoredLog[];
  readonly next: LogPosition | undefined;
}

export interface TallyRequest {
  readonly filter: LogFilter;
  readonly after: LogPosition | undefined;
  readonly rows: number;
  readonly facets: readonly string[];
  /** Requests counts by level for equal parts of a time range. */
  readonly histogram: { readonly startMs: number; readonly endMs: number; readonly buckets: number } | undefined;
}

export interface TallySlice {
  readonly total: number;
  readonly facets: FacetCounts;
  /** For each part of the time range, the counts by level. */
  readonly histogram: readonly (readonly number[])[];
  readonly firstMs: number | undefined;
  readonly lastMs: number | undefined;
  readonly next: LogPosition | undefined;
}

/** A snapshot for a query. It has the entries that existed when the query began, or slightly later ones too. */
export interface LogSource {
  page(request: PageRequest): Awaitable<PageSlice>;
  /** Counts matches, oldest first. */
  tally(request: TallyRequest): Awaitable<TallySlice>;
}

export interface LogStoreStats {
  readonly stored: number;
  readonly limit: number | undefined;
  readonly bytes: number;
  readonly maxBytes: number;
  readonly diskBytes: number | undefined;
  readonly oldestMs: number | undefined;
  /** Number of stored entries that are not on disk yet. They would be lost if the engine were killed now. */
  readonly unwritten: number;
}

/** Stores entries in memory or on disk, limited by number, size and age. */
export interface LogStore {
  readonly kind: "memory" | "disk";
  /** Adds an entry. It must not block or throw. */
  add(entry: StoredLog): void;
  /** Returns a snapshot that includes all entries added before. */
  open(): Awaitable<LogSource>;
  get(id: number): Awaitable<StoredLog | undefined>;
  clear(): Awaitable<void>;
  stats(): LogStoreStats;
  /** Resolves when all added entries are stored. For memory that is at once, for disk after a write. Never rejects. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}
