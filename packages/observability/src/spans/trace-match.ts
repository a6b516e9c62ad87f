import type { AttributeValue } from "@svc-runtime/engine/module";
import { attributeOf, textOfValue } from "../query/attributes.ts";
import { type CompiledFilter, compileFilter } from "../query/filters.ts";
import { WordSearch } from "../query/word-search.ts";
import { durationMs, type SpanRecord } from "../telemetry-records.ts";
import { durationUsOf, statusOf, type TraceFacts } from "./trace-facts.ts";
import type { TraceFilters } from "./trace-query.ts";

/**
 * A condition for a trace. It is met if one of the trace's spans matches. A negated condition is met if no span
 * matches.
 */
export interface SpanCondition {
  readonly negated: boolean;
  matches(span: SpanRecord): boolean;
  readonly lookup: Lookup | undefined;
  /**
   * A lower-case text that the JSON of each matching span contains. It allows a quick test. Undefined if there is no
   * such text.
   */
  readonly needle?: string | undefined;
}

export type Lookup =
  /**
   * If `exact` is true, the index finds exactly the matching spans. Otherwise it finds candidates that must be checked.
   */
  | { readonly by: "value"; readonly key: string; readonly value: string; readonly exact: true }
  | { readonly by: "key"; readonly key: string; readonly exact: boolean }
  | { readonly by: "words"; readonly words: readonly string[]; readonly exact: true };

const TRACE_ID = /^[0-9a-f]{32}$/i;

/** Returns the ids of the traces to which a query is limited. Returns undefined if there is no limit. */
export function traceIdsOf({ trace_id, trace_ids, text }: TraceFilters): readonly string[] | undefined {
  const lists = [
    trace_id === undefined ? undefined : [trace_id],
    trace_ids,
    isTraceId(text) ? [text.trim()] : undefined,
  ].filter((list) => list !== undefined);
  if (lists.length === 0) return undefined;
  return lists
    .map((list) => list.map((id) => id.toLowerCase()))
    .reduce((left, right) => left.filter((id) => right.includes(id)));
}

function isTraceId(text: string | undefined): text is string {
  return text !== undefined && TRACE_ID.test(text.trim());
}

/** Returns true if the facts of a trace decide whether it matches, so that none of its spans must be read. */
export function isDecidedByFacts(filters: TraceFilters): boolean {
  return traceIdsOf(filters) === undefined && spanConditions(filters).length === 0 && filters.groups === undefined;
}

/** Returns true if some of the filters must be tested with spans. */
export function needsSpans(filters: TraceFilters): boolean {
  return spanConditions(filters).length > 0 || (filters.groups ?? []).some(({ any }) => any.some(needsSpans));
}

export function factsMatcher(filters: TraceFilters): (facts: TraceFacts) => boolean {
  const ids = traceIdsOf(filters);
  const wanted = ids === undefined ? undefined : new Set(ids);
  const service = filters.service_name?.toLowerCase();
  const name = filters.search_all_spans ? undefined : filters.name?.toLowerCase();
  const status = filters.status?.toLowerCase();
  return (facts) => {
    if (wanted !== undefined && !wanted.has(facts.traceId)) return false;
    if (facts.internal && !filters.include_internal) return false;
    if (status !== undefined && statusOf(facts) !== status) return false;
    if (filters.with_errors && facts.errorCount === 0) return false;
    if (service !== undefined && !facts.services.some((one) => one.toLowerCase().includes(service))) return false;
    if (name !== undefined && !facts.rootName.toLowerCase().includes(name)) return false;
    if (filters.trigger_type !== undefined && facts.triggerType !== filters.trigger_type) return false;
    return liesWithin(facts, filters);
  };
}

function liesWithin(
  facts: TraceFacts,
  { min_duration_ms, max_duration_ms, start_time, end_time }: TraceFilters,
): boolean {
  if (min_duration_ms !== undefined || max_duration_ms !== undefined) {
    const durationUs = durationUsOf(facts);
    if (durationUs === undefined) return false;
    if (min_duration_ms !== undefined && durationUs < min_duration_ms * 1_000) return false;
    if (max_duration_ms !== undefined && durationUs > max_duration_ms * 1_000) return false;
  }
  if (end_time !== undefined && facts.startUs > end_time * 1_000) return false;
  return start_time === undefined || facts.pendingCount > 0 || facts.endUs >= start_time * 1_000;
}

export function spanConditions(filters: TraceFilters): SpanCondition[] {
  const conditions: SpanCondition[] = [];
  const equals = (key: string, value: string, negated = false): void =>
    void conditions.push(conditionOf({ ...compileFilter({ key, op: "equals", value }), negated }));
  if (filters.function_id !== undefined) equals("svc.function_id", filters.function_id);
  if (filters.worker !== undefined) conditions.push(workerCondition(filters.worker));
  for (const [key, value] of filters.attributes ?? []) equals(key, value);
  for (const [key, value] of filters.exclude_attributes ?? []) equals(key, value, true);
  for (const filter of filters.filters ?? []) conditions.push(conditionOf(compileFilter(filter)));
  if (filters.search_all_spans && filters.name !== undefined)
    conditions.push(conditionOf(compileFilter({ key: "name", op: "contains", value: filters.name })));
  if (filters.text !== undefined && !isTraceId(filters.text)) {
    const search = new WordSearch(filters.text);
    if (search.words.length > 0)
      conditions.push({
        negated: false,
        matches: (span) => search.matches(textsOf(span)),
        lookup: { by: "words", words: search.words, exact: true },
      });
  }
  return conditions;
}

/** Name of a pseudo-attribute that has the worker's name or its connection id. */
export const WORKER = "\0worker";

function workerCondition(worker: string): SpanCondition {
  return {
    negated: false,
    matches: ({ resource }) => resource.service === worker || resource.workerId === worker,
    lookup: { by: "value", key: WORKER, value: worker, exact: true },
  };
}

/** Fields of a span that filters can use like attributes. */
const FIELDS: ReadonlyMap<string, (span: SpanRecord) => AttributeValue | undefined> = new Map<
  string,
  (span: SpanRecord) => AttributeValue | undefined
>([
  ["name", (span) => span.name],
  ["service", (span) => span.resource.service],
  ["trace_id", (span) => span.traceId],
  ["kind", (span) => span.kind],
  ["status", (span) => spanStatusOf(span)],
  [
    "duration_ms",
    (span) => (span.endUnixNano === undefined ? undefined : durationMs(span.startUnixNano, span.endUnixNano)),
  ],
]);

/** Fields that the index can find like attributes. */
export const INDEXED_FIELDS = ["name", "service"] as const;

const RESOURCE = "resource.";

function conditionOf(filter: CompiledFilter): SpanCondition {
  const { key, op, negated } = filter;
  const matches = (span: SpanRecord): boolean => filter.matches(valueIn(span, key));
  if (isUnindexed(key)) return { negated, matches, lookup: undefined };
  if (op === "equals")
    return { negated, matches, lookup: { by: "value", key, value: String(filter.value), exact: true } };
  const needle = op === "contains" || op === "like" ? needleOf(longestPiece(String(filter.value), op)) : undefined;
  return { negated, matches, lookup: { by: "key", key, exact: op === "exists" }, needle };
}

/**
 * Texts that appear unchanged in lower-cased JSON: JSON does not escape these characters, and their lower-case form
 * does not depend on neighbouring characters.
 */
const PLAIN = /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/;

function needleOf(value: string): string | undefined {
  return PLAIN.test(value) ? value.toLowerCase() : undefined;
}

/** Returns the longest part of a pattern that contains no `*`. */
function longestPiece(value: string, op: "contains" | "like"): string {
  if (op === "contains") return value;
  return value.split("*").reduce((longest, piece) => (piece.length > longest.length ? piece : longest));
}

function isUnindexed(key: string): boolean {
  return key.startsWith(RESOURCE) || (FIELDS.has(key) && !INDEXED_FIELDS.some((field) => field === key));
}

function valueIn(span: SpanRecord, key: string): AttributeValue | undefined {
  const own = FIELDS.get(key);
  if (own !== undefined) return own(span);
  if (key === "resource.service.name") return span.resource.service;
  return key.startsWith(RESOURCE)
    ? attributeOf(span.resource.attributes, key.slice(RESOURCE.length))
    : attributeOf(span.attributes, key);
}

/** Returns the status of a span. It is pending until it ends. After that, an unset status counts as ok. */
export function spanStatusOf(span: Pick<SpanRecord, "endUnixNano" | "status">): "ok" | "error" | "pending" {
  if (span.status === "error") return "error";
  return span.endUnixNano === undefined ? "pending" : "ok";
}

/**
 * Attributes that a text search does not read. Ids have their own filters, and each id would be another word in the
 * index.
 */
const NOT_SEARCHED = new Set([
  "svc.invocation_id",
  "svc.worker.id",
  "svc.caller.worker_id",
  "invocation_id",
  "worker_id",
]);

export function* textsOf(span: SpanRecord): Generator<string> {
  yield span.name;
  yield span.resource.service;
  if (span.statusDescription !== undefined) yield span.statusDescription;
  for (const key in span.attributes) {
    const value = span.attributes[key];
    if (value !== undefined && !NOT_SEARCHED.has(key)) yield textOfValue(value);
  }
  for (const event of span.events) {
    yield event.name;
    for (const key in event.attributes) {
      const value = event.attributes[key];
      if (value !== undefined) yield textOfValue(value);
    }
  }
}

/**
 * Tests a trace by its spans. `redact` is applied only to spans that match without it, so it must not make further
 * spans match.
 */
export function matchesSpans(
  conditions: readonly SpanCondition[],
  spans: readonly SpanRecord[],
  redact?: (span: SpanRecord) => SpanRecord,
): boolean {
  return conditions.every(
    (condition) =>
      spans.some((span) => condition.matches(span) && (redact === undefined || condition.matches(redact(span)))) !==
      condition.negated,
  );
}

/** Tests a trace. Calls `spans` only if the facts do not decide. For `redact`, see `matchesSpans`. */
export type TraceMatcher = (
  facts: TraceFacts,
  spans: () => readonly SpanRecord[],
  redact?: (span: SpanRecord) => SpanRecord,
) => boolean;

export function traceMatcher(filters: TraceFilters): TraceMatcher {
  const matchesFacts = factsMatcher(filters);
  const conditions = spanConditions(filters);
  const matchesGroups = groupsMatcher(filters);
  return (facts, spans, redact) =>
    matchesFacts(facts) &&
    (conditions.length === 0 || matchesSpans(conditions, spans(), redact)) &&
    (matchesGroups === undefined || matchesGroups(facts, spans, redact));
}

/** Returns a matcher for the groups; undefined if there are none. */
export function groupsMatcher({ groups }: TraceFilters): TraceMatcher | undefined {
  if (groups === undefined) return undefined;
  const tests = groups.map(({ negated, any }): TraceMatcher => {
    const alternatives = any.map(traceMatcher);
    return (...trace) => alternatives.some((matches) => matches(...trace)) !== negated;
  });
  return (...trace) => tests.every((matches) => matches(...trace));
}
