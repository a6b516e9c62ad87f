import { type CallerAccess, isInfrastructure } from "@svc-runtime/engine/module";
import { attributeOf } from "../query/attributes.ts";
import { type SeesCall, seesCall } from "../query/sees-call.ts";
import type { SpanRecord } from "../telemetry-records.ts";
import {
  MAX_READ_SPANS,
  type SpanReader,
  type SpanStore,
  type TracePage,
  type TraceRow,
  type TraceScan,
} from "./span-store.ts";
import { factsOf } from "./trace-facts.ts";
import { traceIdsOf, traceMatcher } from "./trace-match.ts";
import type { TraceFilters, TraceListRequest, TracePosition } from "./trace-query.ts";

/** Maximum number of store pages that one request searches; the next request continues. */
const MAX_PAGES = 50;

/** Returns the store as the caller may see it: the whole store, or the spans that `visibleSpans` returns. */
export function spansFor(store: SpanReader, access: CallerAccess | undefined): SpanReader {
  return access === undefined ? store : new VisibleSpans(store, seesCall(access));
}

/**
 * Returns the spans that belong to calls which the caller may see. A span belongs to the call of the function that it
 * names, or else to that of the nearest span above it that names one. A span that belongs to no call (an HTTP request,
 * an external span) is visible if the caller may see every call of the trace, except calls of functions that every
 * client may call, which reveal nothing about the trace. That requires `isWhole`: `spans` are all spans of the trace.
 * The attributes that a restricted sender sets on a span decide about the spans below it only if it sent those too:
 * their true parent may be hidden, or no longer stored. Spans that name no function are hidden if their parent is missing.
 */
export function visibleSpans(
  spans: readonly SpanRecord[],
  sees: SeesCall,
  isWhole = spans.length < MAX_READ_SPANS,
): SpanRecord[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const isSeen = ({ functionId, callerId }: Call): boolean => sees(functionId, callerId);
  const owners = new Map<SpanRecord, Owner>();
  for (const span of spans) {
    const path = new Set<SpanRecord>();
    let owner: Owner;
    let at: SpanRecord | undefined = span;
    // A cycle of parents ends the search as well.
    while (at !== undefined && !path.has(at)) {
      if (owners.has(at)) {
        owner = owners.get(at);
        break;
      }
      path.add(at);
      owner = callOf(at);
      if (owner !== undefined) break;
      const child: SpanRecord = at;
      at = child.parentSpanId === undefined ? undefined : byId.get(child.parentSpanId);
      if (at === undefined ? lacksParent(child) : !isCredible(at, child)) {
        owner = null;
        break;
      }
    }
    for (const each of path) owners.set(each, owner);
  }
  const seesAll =
    isWhole &&
    [...owners.values()].every(
      (owner) => owner === undefined || (owner !== null && (isInfrastructure(owner.functionId) || isSeen(owner))),
    );
  return spans.filter((span) => {
    const owner = owners.get(span);
    if (owner === null) return false;
    return owner === undefined ? seesAll : isSeen(owner);
  });
}

interface Call {
  readonly functionId: string;
  /** Worker id of the caller, if it is known. */
  readonly callerId: string | undefined;
}

/** The call that a span belongs to; undefined if there is none, null if no trusted sender names one. */
type Owner = Call | null | undefined;

/** True if what the parent says about itself counts for the child: not if another restricted sender sent the parent. */
function isCredible(parent: SpanRecord, child: SpanRecord): boolean {
  const { restrictedTo } = parent.resource;
  return restrictedTo === undefined || restrictedTo === child.resource.restrictedTo;
}

/** True if the parent was evicted or has not arrived. A request to the engine may have its parent in another system. */
function lacksParent({ parentSpanId, outside, kind }: SpanRecord): boolean {
  return parentSpanId !== undefined && (outside === true || kind !== "server");
}

function callOf({ attributes }: SpanRecord): Call | undefined {
  const functionId = attributeOf(attributes, "svc.function_id");
  const callerId = attributeOf(attributes, "svc.caller.worker_id");
  return typeof functionId === "string"
    ? { functionId, callerId: typeof callerId === "string" ? callerId : undefined }
    : undefined;
}

class VisibleSpans implements SpanReader {
  readonly #store: SpanReader;
  readonly #sees: SeesCall;

  constructor(store: SpanReader, sees: SeesCall) {
    this.#store = store;
    this.#sees = sees;
  }

  get storage(): SpanStore["storage"] {
    return this.#store.storage;
  }

  async spansOf(traceId: string): Promise<readonly SpanRecord[]> {
    const spans = await this.#store.spansOf(traceId);
    return visibleSpans(spans, this.#sees);
  }

  async span(traceId: string, spanId: string): Promise<SpanRecord | undefined> {
    return (await this.spansOf(traceId)).find((span) => span.spanId === spanId);
  }

  scan({ filters, spans, max }: TraceScan, onRow: (row: TraceRow) => void): Promise<boolean> {
    const visible = this.#visibleRow(filters, spans);
    return this.#store.scan({ filters: shared(filters), spans: "all", max }, (row) => {
      const shown = visible(row);
      if (shown !== undefined) onRow(shown);
    });
  }

  /** Totals count the rows of this page and of those before it. */
  async list(request: TraceListRequest): Promise<TracePage> {
    const { filters, limit, offset } = request;
    const visible = this.#visibleRow(filters, request.spans);
    const rows: TraceRow[] = [];
    let skipped = 0;
    let after: TracePosition | undefined = request.after;
    let pages = 0;
    do {
      const wanted = offset - skipped + limit - rows.length;
      const page = await this.#store.list({
        ...request,
        filters: shared(filters),
        after,
        offset: 0,
        limit: Math.min(wanted, limit),
        spans: "all",
        isUncounted: true,
      });
      for (const row of page.rows) {
        const shown = visible(row);
        if (shown === undefined) continue;
        if (skipped < offset) skipped += 1;
        else rows.push(shown);
      }
      after = page.next;
      pages += 1;
    } while (after !== undefined && rows.length < limit && pages < MAX_PAGES);
    return {
      rows,
      total: skipped + rows.length,
      totalIsExact: after === undefined && request.after === undefined,
      next: after,
    };
  }

  /**
   * Returns a function that reduces a trace to the visible part, or returns undefined if that does not match. The
   * filters apply to the visible spans only: otherwise a filter could reveal what hidden spans contain.
   */
  #visibleRow(filters: TraceFilters, wanted: TraceListRequest["spans"]): (row: TraceRow) => TraceRow | undefined {
    const matches = traceMatcher(filters);
    return (row) => {
      const isWhole = row.facts.spanCount <= row.spans.length;
      const visible = visibleSpans(row.spans, this.#sees, isWhole);
      const facts = factsOf(visible);
      if (facts === undefined || !matches(facts, () => visible)) return undefined;
      return { facts, spans: spansAsked(wanted, visible, facts.rootSpanId) };
    };
  }
}

/** The filters that reveal nothing about hidden spans: trace ids, and a time range that contains all visible spans. */
function shared(filters: TraceFilters): TraceFilters {
  const ids = traceIdsOf(filters);
  return {
    include_internal: true,
    search_all_spans: false,
    with_errors: false,
    ...(ids === undefined ? {} : { trace_ids: [...ids] }),
    ...(filters.start_time === undefined ? {} : { start_time: filters.start_time }),
    ...(filters.end_time === undefined ? {} : { end_time: filters.end_time }),
  };
}

function spansAsked(
  what: TraceListRequest["spans"],
  spans: readonly SpanRecord[],
  rootId: string,
): readonly SpanRecord[] {
  if (what === "all") return spans;
  return what === "none" ? [] : spans.filter(({ spanId }) => spanId === rootId);
}
