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

/** Maximum number of the store's pages that one request searches. The client's next request continues after them. */
const MAX_PAGES = 50;

/**
 * Returns a reader for the caller: the whole store, or the spans that `visibleSpans` returns if the caller is
 * restricted.
 */
export function spansFor(store: SpanReader, access: CallerAccess | undefined): SpanReader {
  return access === undefined ? store : new VisibleSpans(store, seesCall(access));
}

/**
 * Returns the spans that the caller may see.
 * - A span belongs to the call of the function that it names. If it names none, it belongs to the call of the nearest
 *   span above it that names one.
 * - A span of a call is visible if the caller may see the call.
 * - A span that belongs to no call (an HTTP request, an external span) is visible if the caller may see all calls of
 *   the trace. Calls of functions that every client may call are ignored here, because they reveal nothing about the
 *   trace. This rule applies only if `isWhole` is set: then `spans` are all spans of the trace.
 * - If a restricted sender sent a span, its attributes decide only about spans below it that the same sender sent.
 * - Spans that name no function are hidden if their parent is missing, because the true parent may be hidden or no
 *   longer stored.
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
    // If the parents form a cycle, the search ends too.
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

/**
 * The call that a span belongs to. Undefined if it belongs to no call. Null if that is not known, because a parent is
 * missing or cannot be trusted; the span is hidden then.
 */
type Owner = Call | null | undefined;

/**
 * Returns true if the attributes of the parent also apply to the child. They do not if another, restricted sender sent
 * the parent.
 */
function isCredible(parent: SpanRecord, child: SpanRecord): boolean {
  const { restrictedTo } = parent.resource;
  return restrictedTo === undefined || restrictedTo === child.resource.restrictedTo;
}

/**
 * Returns true if the parent was evicted or has not arrived. A request to the engine (a server span) does not count,
 * because its parent may be in another system.
 */
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

  /** Lists the visible traces. Totals count the rows of this page and of the pages before it. */
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
   * Returns a function that reduces a trace to its visible part. It returns undefined if the visible part does not
   * match. The filters apply to the visible spans only, because otherwise a filter could reveal what hidden spans
   * contain.
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

/**
 * Returns the filters that are passed to the store. They reveal nothing about hidden spans: trace ids, and a time range
 * that contains all visible spans.
 */
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
