import type { Awaitable } from "../../../kernel/module.ts";
import type { SpanRecord, SpanSink } from "../model.ts";
import type { TraceFacts } from "./trace-facts.ts";
import { durationUsOf } from "./trace-facts.ts";
import type { TraceListRequest, TracePosition, TraceSort } from "./trace-query.ts";

/** Spans of one trace that are read at once, at most; a larger trace is shown in part. */
export const MAX_READ_SPANS = 50_000;
/** Spans that come with each trace of a list that asks for them. */
export const MAX_LISTED_SPANS = 1_000;

export interface TraceRow {
  readonly facts: TraceFacts;
  /** Empty, the root, or all: as was asked for. */
  readonly spans: readonly SpanRecord[];
}

export interface TracePage {
  readonly rows: readonly TraceRow[];
  /** Of the whole match. */
  readonly total: number;
  /** False: there are at least so many. Counting stops where it would take long. */
  readonly totalIsExact: boolean;
  /** Where the next page begins; undefined when there is none. A page may be short, or empty, and still have a next one: finding on takes another request. */
  readonly next: TracePosition | undefined;
}

export interface SpanStoreStats {
  readonly stored: number;
  readonly limit: number | undefined;
  readonly bytes: number;
  readonly maxBytes: number;
  readonly diskBytes: number | undefined;
  /** Beginning of the oldest span, milliseconds since 1970. */
  readonly oldestMs: number | undefined;
  /** Of those stored, what is still on its way to the disk and would be lost if the engine were killed now. */
  readonly unwritten: number;
}

/** Keeps spans and answers for them. */
export interface SpanStore extends SpanSink {
  readonly storage: "memory" | "disk";
  list(request: TraceListRequest): Promise<TracePage>;
  /** Spans of a trace by their beginning, each once, MAX_READ_SPANS at most. */
  spansOf(traceId: string): Promise<readonly SpanRecord[]>;
  span(traceId: string, spanId: string): Promise<SpanRecord | undefined>;
  clear(): Promise<void>;
  stats(): Awaitable<SpanStoreStats>;
  /** Everything that it was told is where it stays: in memory at once, on disk after a write. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** What functions read of a store. */
export type SpanReader = Pick<SpanStore, "storage" | "list" | "spansOf" | "span">;

/**
 * True if `span` may take the place of `stored`, which has the same ids. A restricted sender may replace only what it sent itself: otherwise it could
 * change what others read, and make a hidden span below visible by claiming to be its parent.
 */
export function mayReplace(span: Pick<SpanRecord, "resource">, stored: Pick<SpanRecord, "resource">): boolean {
  const { restrictedTo } = span.resource;
  return restrictedTo === undefined || restrictedTo === stored.resource.restrictedTo;
}

/** What rows are sorted by. */
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

/** Pending traces are sorted before all that have a duration. */
export const PENDING_DURATION_US = -1;

export function bySpanStart(left: SpanRecord, right: SpanRecord): number {
  if (left.startUnixNano !== right.startUnixNano) return left.startUnixNano < right.startUnixNano ? -1 : 1;
  if (left.spanId === right.spanId) return 0;
  return left.spanId < right.spanId ? -1 : 1;
}
