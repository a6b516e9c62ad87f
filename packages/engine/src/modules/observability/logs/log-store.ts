import type { Awaitable } from "../../../kernel/module.ts";
import type { LogRecord } from "../model.ts";
import type { LogFilter } from "./log-filter.ts";

/** An entry with its place among those that came in. */
export interface StoredLog {
  /** Grows with each entry, by one within a run of the engine; never used twice. */
  readonly id: number;
  readonly log: LogRecord;
}

/** A place in the order of time; entries of one instant are in the order in which they came. */
export interface LogPosition {
  readonly timeUnixNano: bigint;
  readonly id: number;
}

export type LogOrder = "asc" | "desc";

/** Facets that can be counted besides attributes. */
export type FacetCounts = ReadonlyMap<string, ReadonlyMap<string, number>>;

export interface PageRequest {
  readonly filter: LogFilter;
  readonly order: LogOrder;
  /** Entries behind this place, in the order asked for. */
  readonly after: LogPosition | undefined;
  /** Entries at most. */
  readonly limit: number;
  /** Entries looked at, at most: the work of one turn. */
  readonly rows: number;
}

export interface PageSlice {
  readonly entries: readonly StoredLog[];
  /** Where to go on; undefined at the end. */
  readonly next: LogPosition | undefined;
}

export interface TallyRequest {
  readonly filter: LogFilter;
  readonly after: LogPosition | undefined;
  readonly rows: number;
  readonly facets: readonly string[];
  /** Counts by level in so many equal parts of a range of time. */
  readonly histogram: { readonly startMs: number; readonly endMs: number; readonly buckets: number } | undefined;
}

export interface TallySlice {
  readonly total: number;
  readonly facets: FacetCounts;
  /** One for each bucket, by level. */
  readonly histogram: readonly (readonly number[])[];
  /** First and last time among those counted. */
  readonly firstMs: number | undefined;
  readonly lastMs: number | undefined;
  readonly next: LogPosition | undefined;
}

/** What a query reads: the entries as they were when it began, or a little later. */
export interface LogSource {
  page(request: PageRequest): Awaitable<PageSlice>;
  /** Counts over matches from the oldest on. */
  tally(request: TallyRequest): Awaitable<TallySlice>;
}

export interface LogStoreFigures {
  readonly stored: number;
  readonly limit: number | undefined;
  readonly bytes: number;
  readonly maxBytes: number;
  readonly diskBytes: number | undefined;
  readonly oldestMs: number | undefined;
}

/** Keeps entries, bounded by number, bytes and age, in memory or on the disk. */
export interface LogStore {
  readonly kind: "memory" | "disk";
  /** Never blocks, throws or waits. */
  add(entry: StoredLog): void;
  /** Entries that were added before are in it. */
  open(): Awaitable<LogSource>;
  get(id: number): Awaitable<StoredLog | undefined>;
  clear(): Awaitable<void>;
  figures(): LogStoreFigures;
  stop(): Promise<void>;
}
