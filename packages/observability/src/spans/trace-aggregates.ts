import type { SpanRecord } from "../model.ts";
import { attributeOf, textOfValue } from "../query/attributes.ts";
import { allTraces, type SpanReader, type TraceRow } from "./span-store.ts";
import { durationUsOf, statusOf } from "./trace-facts.ts";
import type { TraceFilters } from "./trace-query.ts";

/** Maximum number of counted traces, newest first; fewer if spans must be read. With more, `exact` is false. */
const MAX_COUNTED = 50_000;
const MAX_COUNTED_WITH_SPANS = 5_000;
/** Maximum number of values of one facet in a result; the most frequent ones. */
const MAX_VALUES = 100;
/** Maximum number of different values of one facet while counting. */
const MAX_DISTINCT = 10_000;

const FACTS: Readonly<Record<string, (row: TraceRow) => readonly (string | undefined)[]>> = {
  status: ({ facts }) => [statusOf(facts)],
  service: ({ facts }) => facts.services,
  function_id: ({ facts }) => facts.functions,
  trigger_type: ({ facts }) => [facts.triggerType],
  name: ({ facts }) => [facts.rootName],
};

export const DEFAULT_FACETS = ["status", "service", "function_id", "trigger_type"];

/** Counts traces by value. A name that is no fact of a trace refers to an attribute of any of its spans. */
export async function traceFacets(store: SpanReader, filters: TraceFilters, names: readonly string[]) {
  const counts = new Map(names.map((name) => [name, new Map<string, number>()]));
  const needsSpans = names.some((name) => !Object.hasOwn(FACTS, name));
  let total = 0;
  let exact = true;
  for await (const row of allTraces(store, filters, needsSpans ? "all" : "none")) {
    if (total >= (needsSpans ? MAX_COUNTED_WITH_SPANS : MAX_COUNTED)) {
      exact = false;
      break;
    }
    total += 1;
    for (const [name, values] of counts) countValues(values, new Set(valuesOf(row, name)));
  }
  const facets = Object.fromEntries([...counts].map(([name, values]) => [name, mostFrequent(values)]));
  return { facets, total, exact };
}

function valuesOf(row: TraceRow, name: string): readonly (string | undefined)[] {
  const own = Object.hasOwn(FACTS, name) ? FACTS[name] : undefined;
  return own === undefined ? row.spans.map((span) => attributeText(span, name)) : own(row);
}

export function attributeText(span: SpanRecord, name: string): string | undefined {
  const value = attributeOf(span.attributes, name);
  return value === undefined ? undefined : textOfValue(value);
}

function countValues(counts: Map<string, number>, values: ReadonlySet<string | undefined>): void {
  for (const value of values) {
    if (value === undefined) continue;
    const before = counts.get(value);
    if (before !== undefined || counts.size < MAX_DISTINCT) counts.set(value, (before ?? 0) + 1);
  }
}

function mostFrequent(counts: ReadonlyMap<string, number>): { value: string; count: number }[] {
  const all = [...counts].map(([value, count]) => ({ value, count }));
  return all.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1)).slice(0, MAX_VALUES);
}

/** Counts traces over time in equal buckets, and by duration in buckets that grow by a constant factor. */
export async function traceHistogram(store: SpanReader, filters: TraceFilters, buckets: number) {
  const starts: { readonly ms: number; readonly error: boolean }[] = [];
  const durations: number[] = [];
  let exact = true;
  for await (const { facts } of allTraces(store, filters, "none")) {
    if (starts.length >= MAX_COUNTED) {
      exact = false;
      break;
    }
    starts.push({ ms: facts.startUs / 1_000, error: facts.errorCount > 0 });
    const durationUs = durationUsOf(facts);
    if (durationUs !== undefined) durations.push(durationUs / 1_000);
  }
  return {
    time: overTime(starts, filters, buckets),
    duration: overDurations(durations, buckets),
    total: starts.length,
    exact,
  };
}

function overTime(
  starts: readonly { readonly ms: number; readonly error: boolean }[],
  { start_time, end_time }: TraceFilters,
  buckets: number,
) {
  if (starts.length === 0) return [];
  // The list is newest first, so the last is the oldest. A trace may have begun before the requested time.
  const first = Math.max(start_time ?? -Infinity, starts.at(-1)?.ms ?? 0);
  const last = Math.min(end_time ?? Infinity, Math.max(starts[0]?.ms ?? first, first));
  const width = Math.max(1, (last - first) / buckets);
  const time = Array.from({ length: buckets }, (_, index) => ({
    start_ms: first + index * width,
    end_ms: first + (index + 1) * width,
    count: 0,
    errors: 0,
  }));
  for (const { ms, error } of starts) {
    const bucket = time[clampIndex((ms - first) / width, buckets)];
    if (bucket === undefined) continue;
    bucket.count += 1;
    if (error) bucket.errors += 1;
  }
  return time;
}

/** The buckets are logarithmic, because durations differ by orders of magnitude. */
function overDurations(durations: readonly number[], buckets: number) {
  if (durations.length === 0) return [];
  const low = Math.max(
    0.001,
    durations.reduce((a, b) => Math.min(a, b)),
  );
  const high = Math.max(
    low * 1.001,
    durations.reduce((a, b) => Math.max(a, b)),
  );
  const step = Math.log(high / low) / buckets;
  const edge = (index: number): number => low * Math.exp(index * step);
  const list = Array.from({ length: buckets }, (_, index) => ({
    min_ms: index === 0 ? 0 : edge(index),
    max_ms: edge(index + 1),
    count: 0,
  }));
  for (const duration of durations) {
    const bucket = list[clampIndex(Math.log(Math.max(duration, low) / low) / step, buckets)];
    if (bucket !== undefined) bucket.count += 1;
  }
  return list;
}

function clampIndex(index: number, count: number): number {
  return Math.max(0, Math.min(count - 1, Math.floor(index)));
}

interface Group {
  label: string;
  readonly traceIds: Set<string>;
  spans: number;
  errors: number;
  firstUs: number;
  lastUs: number;
  /** The latest span with the attribute. */
  lastSpan: SpanRecord;
}

function countSpan(group: Group, span: SpanRecord, label: string | undefined): void {
  if (label !== undefined) group.label = label;
  group.spans += 1;
  if (span.status === "error") group.errors += 1;
  if (span.startUnixNano > group.lastSpan.startUnixNano) group.lastSpan = span;
}

/** Groups traces that share the value of an attribute, e.g. a session id. */
export async function groupTraces(
  store: SpanReader,
  filters: TraceFilters,
  options: { readonly attribute: string; readonly label: string | undefined; readonly limit: number },
) {
  const groups = new Map<string, Group>();
  let read = 0;
  for await (const { facts, spans } of allTraces(store, filters, "all")) {
    read += 1;
    if (read > MAX_COUNTED_WITH_SPANS) break;
    for (const span of spans) {
      const value = attributeText(span, options.attribute);
      if (value === undefined) continue;
      let group = groups.get(value);
      if (group === undefined) {
        if (groups.size >= MAX_DISTINCT) continue;
        group = {
          label: value,
          traceIds: new Set(),
          spans: 0,
          errors: 0,
          firstUs: facts.startUs,
          lastUs: facts.endUs,
          lastSpan: span,
        };
        groups.set(value, group);
      }
      countSpan(group, span, options.label === undefined ? undefined : attributeText(span, options.label));
      group.traceIds.add(facts.traceId);
      group.firstUs = Math.min(group.firstUs, facts.startUs);
      group.lastUs = Math.max(group.lastUs, facts.endUs, facts.startUs);
    }
  }
  const sorted = [...groups].sort(([, a], [, b]) => b.lastUs - a.lastUs).slice(0, options.limit);
  return sorted.map(([value, { label, traceIds, spans, errors, firstUs, lastUs, lastSpan }]) => ({
    value,
    label,
    trace_ids: [...traceIds],
    span_count: spans,
    first_seen_ms: firstUs / 1_000,
    last_seen_ms: lastUs / 1_000,
    duration_ms: (lastUs - firstUs) / 1_000,
    error_count: errors,
    last_span: {
      trace_id: lastSpan.traceId,
      span_id: lastSpan.spanId,
      start_ms: Number(lastSpan.startUnixNano) / 1e6,
      status: lastSpan.endUnixNano === undefined ? "pending" : lastSpan.status === "error" ? "error" : "ok",
    },
  }));
}
