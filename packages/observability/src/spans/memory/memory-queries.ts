import { setImmediate as nextTurn } from "node:timers/promises";
import type { SpanRecord } from "../../model.ts";
import {
  bySpanStart,
  MAX_LISTED_SPANS,
  MAX_READ_SPANS,
  mayReplace,
  sortValueOf,
  type TracePage,
  type TraceRow,
} from "../span-store.ts";
import { addToFacts, newFacts, type TraceFacts } from "../trace-facts.ts";
import { factsMatcher, matchesSpans, spanConditions } from "../trace-match.ts";
import type { TraceListRequest, TracePosition } from "../trace-query.ts";

/** Spans that are searched in one turn of the event loop, so that calls are not delayed. */
const TURN_SPANS = 2_000;

interface Trace {
  readonly facts: TraceFacts;
  readonly spans: Map<string, SpanRecord>;
}

type Redact = (span: SpanRecord) => SpanRecord;

/** Searches all traces. `all` must be a copy that belongs to the callee. Masked values are not found. */
export async function listTraces(
  all: readonly SpanRecord[],
  request: TraceListRequest,
  redact: Redact,
): Promise<TracePage> {
  const matched = await search(await group(restrictedLast(all)), request, redact);
  const sign = request.descending ? -1 : 1;
  const compare = (a: TracePosition, b: TracePosition): number =>
    sign * (order(a.value, b.value) || order(a.tie, b.tie));
  matched.sort((a, b) => compare(a.position, b.position));
  const { after } = request;
  const from =
    after === undefined ? request.offset : firstIndex(matched, ({ position }) => compare(position, after) > 0);
  const rows = matched.slice(from, from + request.limit);
  return {
    rows: rows.map(({ trace }) => rowOf(trace, request.spans, redact)),
    total: matched.length,
    totalIsExact: true,
    next: from + rows.length < matched.length ? rows.at(-1)?.position : undefined,
  };
}

export function spansOfTrace(all: readonly SpanRecord[], traceId: string): SpanRecord[] {
  const spans = new Map<string, SpanRecord>();
  for (const span of all) {
    if (span.traceId !== traceId) continue;
    const before = spans.get(span.spanId);
    if (before === undefined || mayReplace(span, before)) spans.set(span.spanId, span);
  }
  return [...spans.values()].sort(bySpanStart).slice(0, MAX_READ_SPANS);
}

/** Puts spans of restricted senders last: those that may not replace others must not change the facts of a trace. */
function restrictedLast(all: readonly SpanRecord[]): readonly SpanRecord[] {
  const restricted = all.filter(isRestricted);
  return restricted.length === 0 ? all : [...all.filter((span) => !isRestricted(span)), ...restricted];
}

function isRestricted({ resource }: SpanRecord): boolean {
  return resource.restrictedTo !== undefined;
}

async function group(all: readonly SpanRecord[]): Promise<Map<string, Trace>> {
  const traces = new Map<string, Trace>();
  for (const [index, span] of all.entries()) {
    if (index % TURN_SPANS === TURN_SPANS - 1) await nextTurn();
    let trace = traces.get(span.traceId);
    if (trace === undefined) {
      trace = { facts: newFacts(span), spans: new Map() };
      traces.set(span.traceId, trace);
    }
    const before = trace.spans.get(span.spanId);
    if (before !== undefined && !mayReplace(span, before)) continue;
    addToFacts(trace.facts, span, before);
    trace.spans.set(span.spanId, span);
  }
  return traces;
}

async function search(
  traces: ReadonlyMap<string, Trace>,
  { filters, sortBy }: TraceListRequest,
  redact: Redact,
): Promise<{ trace: Trace; position: TracePosition }[]> {
  const factsMatch = factsMatcher(filters);
  const conditions = spanConditions(filters);
  const matched: { trace: Trace; position: TracePosition }[] = [];
  let searched = 0;
  for (const trace of traces.values()) {
    if (!factsMatch(trace.facts)) continue;
    if (conditions.length > 0) {
      searched += trace.spans.size;
      if (searched > TURN_SPANS) {
        searched = 0;
        await nextTurn();
      }
      if (!matchesSpans(conditions, [...trace.spans.values()], redact)) continue;
    }
    matched.push({ trace, position: { value: sortValueOf(trace.facts, sortBy), tie: trace.facts.traceId } });
  }
  return matched;
}

function rowOf({ facts, spans }: Trace, wanted: TraceListRequest["spans"], redact: Redact): TraceRow {
  const root = wanted === "root" ? spans.get(facts.rootSpanId) : undefined;
  if (wanted === "all")
    return { facts, spans: [...spans.values()].sort(bySpanStart).slice(0, MAX_LISTED_SPANS).map(redact) };
  return { facts, spans: root === undefined ? [] : [redact(root)] };
}

function order(a: string | number, b: string | number): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function firstIndex<T>(list: readonly T[], wanted: (one: T) => boolean): number {
  const index = list.findIndex(wanted);
  return index === -1 ? list.length : index;
}
