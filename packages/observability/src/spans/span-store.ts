import type { Awaitable } from "@svc-runtime/engine/module";
import type { AskedNodes } from "../query/ask-nodes.ts";
import type { SpanRecord, SpanSink } from "../telemetry-records.ts";
import type { FacetValues } from "./trace-facets.ts";
import { durationUsOf, type TraceFacts } from "./trace-facts.ts";
import type { TraceFilters, TraceListRequest, TracePosition, TraceSort } from "./trace-query.ts";

/** Maximum number of spans of one trace that are read. Of a larger trace, only a part is shown. */
export const MAX_READ_SPANS = 50_000;
/** Maximum number of spans per trace in a list with spans. */
export const MAX_LISTED_SPANS = 1_000;

export interface TraceRow {
  readonly facts: TraceFacts;
  /** Depending on the request: no spans, the root span, or all spans. */
  readonly spans: readonly SpanRecord[];
  /** Facet values, if the store has computed them already. Traces with the same values mostly share one object. */
  readonly facets?: FacetValues;
  /** Value of `tie` in the row's `TracePosition`. If undefined, the trace id is used. */
  readonly tie?: number;
}

export interface TracePage {
  readonly rows: readonly TraceRow[];
  readonly total: number;
  /** False if `total` is only a lower bound, because counting stops when it takes too long. */
  readonly totalIsExact: boolean;
  /**
   * Position of the next page; undefined on the last page. A page that is short or empty may still have a next page.
   */
  readonly next: TracePosition | undefined;
}

/** A search of all matching traces. */
export interface TraceScan {
  readonly filters: TraceFilters;
  readonly spans: TraceListRequest["spans"];
  /** Maximum number of traces. */
  readonly max: number;
}

/** The values of the matching traces that counts need. Times are in milliseconds. */
export interface TraceTally {
  readonly combinations: readonly { readonly values: FacetValues; readonly count: number }[];
  readonly starts: readonly number[];
  /** Starts of traces with errors. */
  readonly failedStarts: readonly number[];
  /** Durations of the ended traces. */
  readonly durations: readonly number[];
  /** False if there are more than `max` matching traces. */
  readonly exact: boolean;
}

export interface SpanStoreStats {
  readonly stored: number;
  readonly limit: number | undefined;
  readonly bytes: number;
  readonly maxBytes: number;
  readonly diskBytes: number | undefined;
  /** Start of the oldest span, in milliseconds since 1970. */
  readonly oldestMs: number | undefined;
  /**
   * Time since which all spans are stored, in milliseconds since 1970. Older stored spans belong to failed or slow
   * traces only. Undefined if no span was evicted.
   */
  readonly completeSinceMs: number | undefined;
  /** Number of stored spans that are not on disk yet. They would be lost if the engine were killed now. */
  readonly unwritten: number;
}

/** Stores spans and answers queries. */
export interface SpanStore extends SpanSink {
  readonly storage: "memory" | "disk";
  list(request: TraceListRequest): Promise<TracePage>;
  /**
   * Calls `onRow` for each matching trace, in any order. If there are more than `max` traces, it is called mostly for
   * the newest ones. The rows are valid only during `onRow`. Returns false if there are more traces.
   */
  scan(request: TraceScan, onRow: (row: TraceRow) => void): Promise<boolean>;
  /**
   * Counts the newest `max` matching traces or somewhat more, without reading them one by one. Returns undefined if the
   * store cannot do that for these filters.
   */
  tally?(filters: TraceFilters, max: number): Promise<TraceTally | undefined>;
  /** Returns the spans of a trace by start time, without repeated ids, at most MAX_READ_SPANS. */
  spansOf(traceId: string): Promise<readonly SpanRecord[]>;
  span(traceId: string, spanId: string): Promise<SpanRecord | undefined>;
  clear(): Promise<void>;
  stats(): Awaitable<SpanStoreStats>;
  /** Resolves when all received spans are stored. For memory that is at once, for disk after a write. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface SpanReader extends Pick<SpanStore, "storage" | "list" | "scan" | "tally" | "spansOf" | "span"> {
  /** The nodes that were asked. Undefined if the engine is in no cluster. */
  readonly asked?: AskedNodes | undefined;
}

/**
 * Returns true if `span` may replace `stored`, which has the same ids. A restricted sender may replace only its own
 * spans. Otherwise it could change spans that others read. It could also claim to be the parent of a hidden span, and
 * make that span visible.
 */
export function mayReplace(span: Pick<SpanRecord, "resource">, stored: Pick<SpanRecord, "resource">): boolean {
  const { restrictedTo } = span.resource;
  return restrictedTo === undefined || restrictedTo === stored.resource.restrictedTo;
}

export function sortValueOf(facts: TraceFacts, sortBy: TraceSort): string | number {
  switch (sortBy) {
    case "start_time":
      return facts.startUs;
    case "duration":
      return durationUsOf(facts) ?? PENDING_DURATION_US;
    case "name":
      return facts.rootName.toLowerCase();
    case "spans":
      return facts.spanCount;
  }
}

/** Duration of a pending trace for sorting. It sorts pending traces before all traces with a duration. */
export const PENDING_DURATION_US = -1;

export function bySpanStart(left: SpanRecord, right: SpanRecord): number {
  if (left.startUnixNano !== right.startUnixNano) return left.startUnixNano < right.startUnixNano ? -1 : 1;
  if (left.spanId === right.spanId) return 0;
  return left.spanId < right.spanId ? -1 : 1;
}

const PAGE = 1_000;
const PAGE_WITH_SPANS = 100;

/** Yields each matching trace, the newest first. Reads page by page. */
export async function* allTraces(
  store: Pick<SpanReader, "list">,
  filters: TraceFilters,
  spans: TraceListRequest["spans"],
): AsyncGenerator<TraceRow> {
  const limit = spans === "none" ? PAGE : PAGE_WITH_SPANS;
  let after: TracePosition | undefined;
  do {
    const page = await store.list({
      ...{ filters, sortBy: "start_time", descending: true, after, offset: 0, limit, spans },
      isUncounted: true,
    });
    yield* page.rows;
    after = page.next;
  } while (after !== undefined);
}

/** Implements `scan` by reading a store page by page. */
export async function scanPages(
  store: Pick<SpanReader, "list">,
  { filters, spans, max }: TraceScan,
  onRow: (row: TraceRow) => void,
): Promise<boolean> {
  let count = 0;
  for await (const row of allTraces(store, filters, spans)) {
    if (count >= max) return false;
    count += 1;
    onRow(row);
  }
  return true;
}
