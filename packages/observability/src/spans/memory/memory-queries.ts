import type { SecretMask } from "@svc-runtime/protocol";
import type { SpanRecord } from "../../telemetry-records.ts";
import { redactSpan } from "../redact-span.ts";
import {
  bySpanStart,
  MAX_LISTED_SPANS,
  MAX_READ_SPANS,
  sortValueOf,
  type TracePage,
  type TraceRow,
  type TraceScan,
} from "../span-store.ts";
import { SharedFacetValues } from "../trace-facets.ts";
import {
  factsMatcher,
  groupsMatcher,
  matchesSpans,
  spanConditions,
  type TraceMatcher,
  traceIdsOf,
} from "../trace-match.ts";
import type { TraceFilters, TraceListRequest, TracePosition } from "../trace-query.ts";
import { ConditionBits } from "./condition-bits.ts";
import { FirstOf } from "./first-of.ts";
import type { PendingSpans } from "./pending-spans.ts";
import type { SpanRing } from "./span-ring.ts";
import { TimeSlice } from "./time-slice.ts";
import { type Trace, TraceIndex } from "./trace-index.ts";

const NONE: readonly SpanRecord[] = [];

interface FoundTrace {
  readonly trace: Trace;
  readonly position: TracePosition;
}

/**
 * Queries of the spans in memory. While a query runs, the caller must not reuse evicted records for other calls. Masked
 * values are not found.
 */
export class MemoryQueries {
  readonly #index: TraceIndex;
  readonly #bits: ConditionBits;
  readonly #redactor: () => SecretMask;
  readonly #facets = new SharedFacetValues();

  constructor(parts: {
    readonly ring: SpanRing;
    readonly reserve: SpanRing;
    readonly pending: PendingSpans;
    /** Returns the secret mask of the current config. */
    readonly redactor: () => SecretMask;
  }) {
    this.#index = new TraceIndex(parts);
    this.#bits = new ConditionBits(this.#index);
    this.#redactor = parts.redactor;
  }

  async list({ filters, sortBy, descending, after, offset, limit, spans }: TraceListRequest): Promise<TracePage> {
    const sign = descending ? -1 : 1;
    const compare = (a: TracePosition, b: TracePosition): number =>
      sign * (order(a.value, b.value) || order(a.tie, b.tie));
    const skipped = after === undefined ? offset : 0;
    const first = new FirstOf<FoundTrace>(skipped + limit + 1, (a, b) => compare(a.position, b.position));
    let total = 0;
    await this.#search(filters, (trace) => {
      total += 1;
      const position = { value: sortValueOf(trace.facts, sortBy), tie: trace.facts.traceId };
      if (after === undefined || compare(position, after) > 0) first.add({ trace, position });
      return true;
    });
    const sorted = first.sorted();
    const page = sorted.slice(skipped, skipped + limit);
    const redact = this.#masker();
    return {
      rows: page.map(({ trace }) => rowOf(trace, spans, redact)),
      total,
      totalIsExact: true,
      next: skipped + page.length < sorted.length ? page.at(-1)?.position : undefined,
    };
  }

  async scan({ filters, spans, max }: TraceScan, onRow: (row: TraceRow) => void): Promise<boolean> {
    const redact = this.#masker();
    let count = 0;
    return this.#search(filters, (trace) => {
      if (count >= max) return false;
      count += 1;
      const facets = trace.facets(this.#facets);
      onRow(
        spans === "none" ? { facts: trace.facts, spans: NONE, facets } : { ...rowOf(trace, spans, redact), facets },
      );
      return true;
    });
  }

  async spansOf(traceId: string): Promise<readonly SpanRecord[]> {
    const [trace] = await this.#index.traces([traceId]);
    if (trace === undefined) return [];
    return trace.spans().toSorted(bySpanStart).slice(0, MAX_READ_SPANS).map(this.#masker());
  }

  async span(traceId: string, spanId: string): Promise<SpanRecord | undefined> {
    const [trace] = await this.#index.traces([traceId]);
    const found = trace?.spans().find((span) => span.spanId === spanId);
    return found === undefined ? undefined : this.#masker()(found);
  }

  /** Calls `onTrace` for each matching trace, mostly the newest first. Returns false if `onTrace` ended the search. */
  async #search(filters: TraceFilters, onTrace: (trace: Trace) => boolean): Promise<boolean> {
    const matchesFacts = factsMatcher(filters);
    const conditions = spanConditions(filters);
    const matchesGroups = groupsMatcher(filters);
    const hasTest = conditions.length > 0 || matchesGroups !== undefined;
    const matches: TraceMatcher = (facts, spans, redact) =>
      matchesSpans(conditions, spans(), redact) && (matchesGroups === undefined || matchesGroups(facts, spans, redact));
    const slice = new TimeSlice();
    const traces = await this.#index.traces(traceIdsOf(filters));
    for (let at = traces.length - 1; at >= 0; at -= 1) {
      if (slice.isOver()) await slice.next();
      const trace = traces[at] as Trace;
      if (!matchesFacts(trace.facts)) continue;
      if (hasTest && !this.#meets(trace, filters, matches)) continue;
      if (!onTrace(trace)) return false;
    }
    return true;
  }

  /**
   * Returns whether a trace meets the span conditions. Reads its spans only if the trace has changed since the last
   * test.
   */
  #meets(trace: Trace, filters: TraceFilters, matches: TraceMatcher): boolean {
    const redactor = this.#redactor();
    const bit = this.#bits.bitOf(filters, redactor);
    if ((trace.known & bit) === 0) {
      const meets = matches(
        trace.facts,
        () => trace.spans(),
        (span) => redactSpan(span, redactor),
      );
      trace.met = meets ? trace.met | bit : trace.met & ~bit;
      trace.known |= bit;
    }
    return (trace.met & bit) !== 0;
  }

  /** Returns a function that masks the values of the keys that the current config lists. */
  #masker(): (span: SpanRecord) => SpanRecord {
    const redactor = this.#redactor();
    return (span) => redactSpan(span, redactor);
  }
}

function rowOf(trace: Trace, wanted: TraceListRequest["spans"], redact: (span: SpanRecord) => SpanRecord): TraceRow {
  const { facts } = trace;
  if (wanted === "none") return { facts, spans: NONE };
  if (wanted === "all")
    return { facts, spans: trace.spans().toSorted(bySpanStart).slice(0, MAX_LISTED_SPANS).map(redact) };
  const root = trace.spans().find(({ spanId }) => spanId === facts.rootSpanId);
  return { facts, spans: root === undefined ? [] : [redact(root)] };
}

function order(a: string | number, b: string | number): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
