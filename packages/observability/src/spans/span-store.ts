import type { Awaitable } from "@svc-runtime/engine/module";
import type { AskedNodes } from "../query/ask-nodes.ts";
import type { SpanRecord, SpanSink } from "../telemetry-records.ts";
import type { FacetValues } from "./trace-facets.ts";
import { durationUsOf, type TraceFacts } from "./trace-facts.ts";
import type { TraceFilters, TraceListRequest, TracePosition, TraceSort } from "./trace-query.ts";

/** Maximum number of spans that are read of one trace; a larger trace is shown in part. */
export const MAX_READ_SPANS = 50_000;
/** Maximum number of spans per trace in a list with spans. */
export const MAX_LISTED_SPANS = 1_000;

export interface TraceRow {
  readonly facts: TraceFacts;
  /** Empty, the root span, or all spans, depending on the request. */
  readonly spans: readonly SpanRecord[];
  /** Mostly the same object for traces with the same values, if the store has computed it already. */
  readonly facets?: FacetValues;
  /** That of its `TracePosition`. Undefined: its id. */
  readonly tie?: number;
}

export interface TracePage {
  readonly rows: readonly TraceRow[];
  readonly total: number;
  /** False: `total` is a lower bound. Counting stops if it takes too long. */
  readonly totalIsExact: boolean;
  /** Where the next page begins; undefined on the last page. A short or empty page may still have a next one. */
  readonly next: TracePosition | undefined;
}

/** A search of all matching traces. */
export interface TraceScan {
  readonly filters: TraceFilters;
  readonly spans: TraceListRequest["spans"];
  /** Maximum number of traces. */
  readonly max: number;
}

/** What counts need of the matching traces. Times are in milliseconds. */
export interface TraceTally {
  readonly combinations: readonly { readonly values: FacetValues; readonly count: number }[];
  readonly starts: readonly number[];
  /** Starts of traces with errors. */
  readonly failedStarts: readonly number[];
  /** Of ended traces. */
  readonly durations: readonly number[];
  /** False: there are more than `max`. */
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
   * Since when all spans are stored, in milliseconds since 1970. Older ones are of failed or slow traces only. Undefined:
   * none was evicted.
   */
  readonly completeSinceMs: number | undefined;
  /** Stored spans that are not on disk yet and would be lost if the engine were killed now. */
  readonly unwritten: number;
}

/** Stores spans and answers queries. */
export interface SpanStore extends SpanSink {
  readonly storage: "memory" | "disk";
  list(request: TraceListRequest): Promise<TracePage>;
  /**
   * Passes on matching traces, in any order; with more than `max`, mostly the newest. The rows are valid only during
   * `onRow`. Returns false if there are more.
   */
  scan(request: TraceScan, onRow: (row: TraceRow) => void): Promise<boolean>;
  /**
   * Counts matching traces without reading them one by one, the newest `max` or somewhat more. Undefined if the store
   * cannot do that for these filters.
   */
  tally?(filters: TraceFilters, max: number): Promise<TraceTally | undefined>;
  /** Returns the spans of a trace by start time, each once, MAX_READ_SPANS at most. */
  spansOf(traceId: string): Promise<readonly SpanRecord[]>;
  span(traceId: string, spanId: string): Promise<SpanRecord | undefined>;
  clear(): Promise<void>;
  stats(): Awaitable<SpanStoreStats>;
  /** Resolves when all received spans are stored: in memory at once, on disk after a write. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface SpanReader extends Pick<SpanStore, "storage" | "list" | "scan" | "tally" | "spansOf" | "span"> {
  /** Which nodes were asked. Undefined on an engine that is alone. */
  readonly asked?: AskedNodes | undefined;
}

/**
 * True if `span` may replace `stored`, which has the same ids. A restricted sender may replace only its own spans:
 * otherwise it could change what others read, and make a hidden span below visible by claiming to be its parent.
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

/** Sorts pending traces before all that have a duration. */
export const PENDING_DURATION_US = -1;

export function bySpanStart(left: SpanRecord, right: SpanRecord): number {
  if (left.startUnixNano !== right.startUnixNano) return left.startUnixNano < right.startUnixNano ? -1 : 1;
  if (left.spanId === right.spanId) return 0;
  return left.spanId < right.spanId ? -1 : 1;
}

const PAGE = 1_000;
const PAGE_WITH_SPANS = 100;

/** Yields every trace that matches, newest first, page by page. */
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

/** Scans a store page by page. */
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
