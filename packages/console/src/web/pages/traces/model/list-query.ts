import type { SearchOf } from "../../../app/search.ts";
import {
  activeTerms,
  durationMs,
  type EngineFilter,
  engineFilterOf,
  type FieldTerm,
  type FilterTerm,
  parseFilter,
  termOfAttrParam,
} from "../../../lib/filter-grammar.ts";
import { windowOf } from "../../../lib/time-range.ts";

export type TraceSearch = SearchOf<"traces">;

/** Time range of the list if the address names none. */
export const FALLBACK_RANGE = "all";

/** Payload of engine::traces::list and related functions. */
export interface TraceFilters {
  readonly [name: string]: unknown;
  readonly filters?: readonly EngineFilter[];
}

interface ReadFilters {
  readonly filters: TraceFilters;
  /** Messages about the parts of the filter that the engine does not support. */
  readonly problems: readonly string[];
}

/** Filter fields with a payload member of their own. */
const MEMBERS: Readonly<Record<string, string>> = {
  status: "status",
  fn: "function_id",
  function: "function_id",
  trigger: "trigger_type",
  worker: "worker",
  trace: "trace_id",
};
const BOUNDS: Readonly<Partial<Record<FieldTerm["op"], "min_duration_ms" | "max_duration_ms">>> = {
  gt: "min_duration_ms",
  gte: "min_duration_ms",
  lt: "max_duration_ms",
  lte: "max_duration_ms",
};
/** Filter fields that are not attributes, with their key in the engine's `filters`. */
const COMPARED: Readonly<Record<string, string>> = { service: "service", source: "service", op: "name", name: "name" };

/** Returns the payload for the address. A rolling range ends at `nowMs`. */
export function filtersOf(search: TraceSearch, nowMs: number): TraceFilters {
  return readFilters(search, nowMs).filters;
}

export function readFilters(search: TraceSearch, nowMs: number): ReadFilters {
  const parsed = parseFilter(search.q ?? "");
  const attrs = (search.attr ?? []).map(termOfAttrParam).filter((term) => term !== undefined);
  const problems = [...parsed.problems];
  const members: Record<string, unknown> = {};
  const filters: EngineFilter[] = [];
  const words: string[] = [];
  for (const term of activeTerms([...parsed.terms, ...attrs])) {
    const problem = addTerm(term, members, filters, words);
    if (problem !== undefined) problems.push(problem);
  }
  if (search.service !== undefined) filters.push({ key: "service", op: "equals", value: search.service });
  const { startMs, endMs } = windowOf(search, FALLBACK_RANGE, nowMs);
  const wanted = {
    ...members,
    text: words.length === 0 ? undefined : words.join(" "),
    status: search.status ?? members.status,
    with_errors: search.failed === true ? true : undefined,
    function_id: search.fn ?? members.function_id,
    name: search.op,
    trigger_type: search.trigger ?? members.trigger_type,
    min_duration_ms: search.min ?? members.min_duration_ms,
    max_duration_ms: search.max ?? members.max_duration_ms,
    start_time: startMs,
    end_time: endMs,
    filters: filters.length === 0 ? undefined : filters,
    include_internal: search.system === true ? true : undefined,
  };
  return { filters: Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined)), problems };
}

/** Adds the term to the payload, or returns why the engine does not support it. */
function addTerm(
  term: FilterTerm,
  members: Record<string, unknown>,
  filters: EngineFilter[],
  words: string[],
): string | undefined {
  if (term.kind === "regex") return "regular expressions are not supported for traces";
  if (term.kind !== "field") {
    if (term.negated)
      return `-${term.text}: excluding a word is not supported; exclude by attribute, e.g. -attr.http.route~${term.text}`;
    words.push(term.text);
    return undefined;
  }
  if (term.field === "dur" || term.field === "duration") return addDuration(term, members);
  const member = Object.hasOwn(MEMBERS, term.field) ? MEMBERS[term.field] : undefined;
  if (member !== undefined) {
    if (term.op !== "equals" || term.negated) return `${term.field} can only be compared with \`:\``;
    members[member] = member === "status" ? term.value.toLowerCase() : term.value;
    return undefined;
  }
  const compared = Object.hasOwn(COMPARED, term.field) ? COMPARED[term.field] : undefined;
  const filter = engineFilterOf(term, compared);
  if (filter === undefined) return `${term.field}: this comparison cannot be negated`;
  filters.push(filter);
  return undefined;
}

function addDuration(term: FieldTerm, members: Record<string, unknown>): string | undefined {
  const bound = BOUNDS[term.op];
  const ms = durationMs(term.value);
  if (bound === undefined || term.negated || ms === undefined) return "a duration needs >, >=, < or <=, e.g. dur>200ms";
  members[bound] = ms;
  return undefined;
}

/** Clears all filters of the list, but not its order. */
export const NO_FILTERS = {
  ...{
    q: undefined,
    status: undefined,
    failed: undefined,
    service: undefined,
    fn: undefined,
    op: undefined,
    trigger: undefined,
  },
  ...{ min: undefined, max: undefined, from: undefined, to: undefined, range: undefined, attr: undefined },
} as const satisfies Partial<Record<keyof TraceSearch, undefined>>;

/** Describes the active filters, or returns undefined if there are none. */
export function filterText(search: TraceSearch): string | undefined {
  const parts = (Object.keys(NO_FILTERS) as (keyof typeof NO_FILTERS)[]).flatMap((key) => {
    const value = search[key];
    if (key === "failed" && value === true) return ["with errors"];
    if (value === undefined || (key === "range" && value === "all")) return [];
    return [key === "q" ? String(value) : `${key} ${Array.isArray(value) ? value.join(", ") : String(value)}`];
  });
  return parts.length === 0 ? undefined : parts.join(" · ");
}

/** Sortable columns, with the engine's name. */
const SORTS: Readonly<Record<string, string>> = {
  timestamp: "start_time",
  duration: "duration",
  name: "name",
  spans: "spans",
};

export function sortOf(search: TraceSearch): { readonly sort_by: string; readonly sort_order: "asc" | "desc" } {
  return { sort_by: SORTS[search.sort ?? ""] ?? "start_time", sort_order: search.dir ?? "desc" };
}
