import { attributeOf, textOfValue } from "../query/attributes.ts";
import type { SpanRecord } from "../telemetry-records.ts";
import { allTraces, type SpanReader, type TraceRow, type TraceTally } from "./span-store.ts";
import { DEFAULT_FACETS, type FacetValues, facetValuesOf } from "./trace-facets.ts";
import { durationUsOf } from "./trace-facts.ts";
import type { TraceFilters } from "./trace-query.ts";

/** Maximum number of traces that are counted; the newest are counted. If there are more, `exact` is false. */
const MAX_COUNTED = 50_000;
/** Maximum number of traces that are counted if their spans must be read. */
const MAX_COUNTED_WITH_SPANS = 5_000;
/** Maximum number of values of one facet in a result. The most frequent ones are returned. */
const MAX_VALUES = 100;
/** Maximum number of different values of one facet while counting. */
const MAX_DISTINCT = 10_000;
/** Name of the facet by the name of the root span. */
const ROOT_NAME = "name";

/**
 * Counts traces by value. A facet name that is not a fact of traces is the name of an attribute, which any span of the
 * trace may have.
 */
export async function traceFacets(store: SpanReader, filters: TraceFilters, names: readonly string[]) {
  const counts = new Map(names.map((name) => [name, new Map<string, number>()]));
  const usual = DEFAULT_FACETS.filter((name) => counts.has(name));
  const others = names.filter((name) => !usual.some((each) => each === name));
  const readers = others.map((name) => ({ counts: counts.get(name) ?? new Map(), valuesOf: valuesOf(name) }));
  const combinations = new Map<FacetValues, number>();
  const needsSpans = others.some((name) => name !== ROOT_NAME);
  const scan = needsSpans
    ? ({ filters, spans: "all", max: MAX_COUNTED_WITH_SPANS } as const)
    : ({ filters, spans: "none", max: MAX_COUNTED } as const);
  const tally = others.length === 0 ? await store.tally?.(filters, MAX_COUNTED) : undefined;
  let total = tally?.starts.length ?? 0;
  for (const { values, count } of tally?.combinations ?? []) combinations.set(values, count);
  const exact =
    tally?.exact ??
    (await store.scan(scan, (row) => {
      total += 1;
      const values = row.facets ?? facetValuesOf(row.facts);
      combinations.set(values, (combinations.get(values) ?? 0) + 1);
      for (const reader of readers)
        for (const value of reader.valuesOf(row)) if (value !== undefined) countValue(reader.counts, value, 1);
    }));
  for (const [values, count] of combinations)
    for (const name of usual) for (const value of values[name]) countValue(counts.get(name) ?? new Map(), value, count);
  const facets = Object.fromEntries([...counts].map(([name, values]) => [name, mostFrequent(values)]));
  return { facets, total, exact };
}

/** Returns a function that yields the values of a trace for a facet, each once. */
function valuesOf(name: string): (row: TraceRow) => Iterable<string | undefined> {
  if (name === ROOT_NAME) return ({ facts }) => [facts.rootName];
  return ({ spans }) => new Set(spans.map((span) => attributeText(span, name)));
}

export function attributeText(span: SpanRecord, name: string): string | undefined {
  const value = attributeOf(span.attributes, name);
  return value === undefined ? undefined : textOfValue(value);
}

function countValue(counts: Map<string, number>, value: string, by: number): void {
  const before = counts.get(value);
  if (before !== undefined || counts.size < MAX_DISTINCT) counts.set(value, (before ?? 0) + by);
}

function mostFrequent(counts: ReadonlyMap<string, number>): { value: string; count: number }[] {
  const all = [...counts].map(([value, count]) => ({ value, count }));
  return all.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1)).slice(0, MAX_VALUES);
}

/**
 * Counts traces in two ways: over time, in buckets of equal length; and by duration, in buckets that grow by a constant
 * factor.
 */
export async function traceHistogram(store: SpanReader, filters: TraceFilters, buckets: number) {
  const { starts, failedStarts, durations, exact } =
    (await store.tally?.(filters, MAX_COUNTED)) ?? (await scannedTimes(store, filters));
  return {
    time: overTime({ starts, failedStarts }, filters, buckets),
    duration: overDurations(durations, buckets),
    total: starts.length,
    exact,
  };
}

async function scannedTimes(store: SpanReader, filters: TraceFilters): Promise<Omit<TraceTally, "combinations">> {
  const starts: number[] = [];
  const failedStarts: number[] = [];
  const durations: number[] = [];
  const exact = await store.scan({ filters, spans: "none", max: MAX_COUNTED }, ({ facts }) => {
    const startMs = facts.startUs / 1_000;
    starts.push(startMs);
    if (facts.errorCount > 0) failedStarts.push(startMs);
    const durationUs = durationUsOf(facts);
    if (durationUs !== undefined) durations.push(durationUs / 1_000);
  });
  return { starts, failedStarts, durations, exact };
}

function overTime(
  { starts, failedStarts }: { readonly starts: readonly number[]; readonly failedStarts: readonly number[] },
  { start_time, end_time }: TraceFilters,
  buckets: number,
) {
  if (starts.length === 0) return [];
  // A trace that began before the requested time may still match.
  const first = Math.max(start_time ?? -Infinity, least(starts));
  const last = Math.min(end_time ?? Infinity, Math.max(greatest(starts), first));
  const width = Math.max(1, (last - first) / buckets);
  const time = Array.from({ length: buckets }, (_, index) => ({
    start_ms: first + index * width,
    end_ms: first + (index + 1) * width,
    count: 0,
    errors: 0,
  }));
  const bucketAt = (ms: number) => time[clampIndex((ms - first) / width, buckets)];
  for (const ms of starts) {
    const bucket = bucketAt(ms);
    if (bucket !== undefined) bucket.count += 1;
  }
  for (const ms of failedStarts) {
    const bucket = bucketAt(ms);
    if (bucket !== undefined) bucket.errors += 1;
  }
  return time;
}

/** Counts by duration. The buckets are logarithmic, because durations differ by orders of magnitude. */
function overDurations(durations: readonly number[], buckets: number) {
  if (durations.length === 0) return [];
  const shortest = least(durations);
  const low = Math.max(0.001, shortest);
  const high = Math.max(low * 1.001, greatest(durations));
  const step = Math.log(high / low) / buckets;
  const edge = (index: number): number => low * Math.exp(index * step);
  const list = Array.from({ length: buckets }, (_, index) => ({
    min_ms: index === 0 ? shortest : edge(index),
    max_ms: edge(index + 1),
    count: 0,
  }));
  for (const duration of durations) {
    const bucket = list[clampIndex(Math.log(Math.max(duration, low) / low) / step, buckets)];
    if (bucket !== undefined) bucket.count += 1;
  }
  return list;
}

/** Returns the smallest number. `Math.min(...)` cannot take that many arguments. */
function least(numbers: readonly number[]): number {
  let found = Number.POSITIVE_INFINITY;
  for (const each of numbers) if (each < found) found = each;
  return found;
}

function greatest(numbers: readonly number[]): number {
  let found = Number.NEGATIVE_INFINITY;
  for (const each of numbers) if (each > found) found = each;
  return found;
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

/** Groups traces that have the same value of an attribute, for example a session id. */
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
