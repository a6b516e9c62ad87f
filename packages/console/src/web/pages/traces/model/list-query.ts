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

/** Of the list where the address names no range. */
export const FALLBACK_RANGE = "all";

/** What engine::traces::list and its kin are asked with. */
export interface TraceFilters {
  readonly [name: string]: unknown;
  readonly filters?: readonly EngineFilter[];
}

export interface ReadFilters {
  readonly filters: TraceFilters;
  /** What of the filter cannot be asked for, for people. */
  readonly problems: readonly string[];
}

/** Fields of the filter's language that the engine has a member for. */
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
/** Fields that the engine compares by themselves. */
const COMPARED: Readonly<Record<string, string>> = { service: "service", source: "service", op: "name", name: "name" };

/** What the address asks for; a rolling range ends now. */
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
    const problem = takeTerm(term, members, filters, words);
    if (problem !== undefined) problems.push(problem);
  }
  if (search.service !== undefined) filters.push({ key: "service", op: "equals", value: search.service });
  const { startMs, endMs } = windowOf(search, FALLBACK_RANGE, nowMs);
  const wanted = {
    ...members,
    text: words.length === 0 ? undefined : words.join(" "),
    status: search.status ?? members.status,
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

/** Adds what the term asks for; answers why it cannot. */
function takeTerm(term: FilterTerm, members: Record<string, unknown>, filters: EngineFilter[], words: string[]): string | undefined {
  if (term.kind === "regex") return "traces are not searched by regular expressions";
  if (term.kind !== "field") {
    if (term.negated) return `-${term.text}: traces without a word cannot be asked for; name an attribute, e.g. -attr.http.route~${term.text}`;
    words.push(term.text);
    return undefined;
  }
  if (term.field === "dur" || term.field === "duration") return takeDuration(term, members);
  const member = Object.hasOwn(MEMBERS, term.field) ? MEMBERS[term.field] : undefined;
  if (member !== undefined) {
    if (term.op !== "equals" || term.negated) return `${term.field} can only be compared with \`:\``;
    members[member] = member === "status" ? term.value.toLowerCase() : term.value;
    return undefined;
  }
  const compared = Object.hasOwn(COMPARED, term.field) ? COMPARED[term.field] : undefined;
  const filter = engineFilterOf(term, compared);
  if (filter === undefined) return `${term.field}: the opposite of this comparison cannot be asked for`;
  filters.push(filter);
  return undefined;
}

function takeDuration(term: FieldTerm, members: Record<string, unknown>): string | undefined {
  const bound = BOUNDS[term.op];
  const ms = durationMs(term.value);
  if (bound === undefined || term.negated || ms === undefined) return "a duration is compared with >, >=, < or <=, e.g. dur>200ms";
  members[bound] = ms;
  return undefined;
}

/** What filters the list, apart from the order and the looks of it. */
export const NO_FILTERS = {
  ...{ q: undefined, status: undefined, service: undefined, fn: undefined, op: undefined, trigger: undefined },
  ...{ min: undefined, max: undefined, from: undefined, to: undefined, range: undefined, attr: undefined },
} as const satisfies Partial<Record<keyof TraceSearch, undefined>>;

/** What of the address hides traces, for people; undefined when nothing does. */
export function filterText(search: TraceSearch): string | undefined {
  const parts = (Object.keys(NO_FILTERS) as (keyof typeof NO_FILTERS)[]).flatMap((key) => {
    const value = search[key];
    if (value === undefined || (key === "range" && value === "all")) return [];
    return [key === "q" ? String(value) : `${key} ${Array.isArray(value) ? value.join(", ") : String(value)}`];
  });
  return parts.length === 0 ? undefined : parts.join(" · ");
}

/** Columns of the list that the engine sorts by. */
const SORTS: Readonly<Record<string, string>> = { timestamp: "start_time", duration: "duration", name: "name", spans: "spans" };

export function sortOf(search: TraceSearch): { readonly sort_by: string; readonly sort_order: "asc" | "desc" } {
  return { sort_by: SORTS[search.sort ?? ""] ?? "start_time", sort_order: search.dir ?? "desc" };
}
