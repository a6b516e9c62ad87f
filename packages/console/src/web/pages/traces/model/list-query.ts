import {
  activeTerms,
  formatFilter,
  parseFilter,
  problemText,
  type QueryProblem,
  type TraceMembers,
  traceQueryOf,
} from "@svc-runtime/protocol/query";
import type { SearchOf } from "../../../app/search.ts";
import { t } from "../../../labels/translate.ts";
import { termOfAttrParam } from "../../../lib/attr-param.ts";
import { windowOf } from "../../../lib/time-range.ts";

export type TraceSearch = SearchOf<"traces">;

/** Time range of the list if the address has none. */
export const FALLBACK_RANGE = "all";

/** Payload of engine::traces::list and similar functions. */
export interface TraceFilters {
  readonly [name: string]: unknown;
  readonly filters?: TraceMembers["filters"];
}

interface ReadFilters {
  readonly filters: TraceFilters;
  /** Errors in the query. The valid parts of the query are applied nevertheless. */
  readonly problems: readonly string[];
}

/** Returns the payload for the address. A range that moves with the clock ends at `nowMs`. */
export function filtersOf(search: TraceSearch, nowMs: number): TraceFilters {
  return readFilters(search, nowMs).filters;
}

export function readFilters(search: TraceSearch, nowMs: number): ReadFilters {
  const parsed = parseFilter(search.q ?? "");
  const attrs = (search.attr ?? []).map(termOfAttrParam).filter((term) => term !== undefined);
  const terms = [...activeTerms(parsed.terms), ...attrs];
  const problems: QueryProblem[] = [...parsed.problems];
  const { members, groups } = traceQueryOf(terms, problems);
  const filters = [
    ...(members.filters ?? []),
    ...(search.service === undefined ? [] : [{ key: "service", op: "equals" as const, value: search.service }]),
  ];
  const { startMs, endMs } = windowOf(search, FALLBACK_RANGE, nowMs);
  const wanted = {
    ...members,
    // The members are used to test summaries of changed traces. For alternatives, the engine needs the whole query.
    query: groups.length === 0 ? undefined : formatFilter(terms.filter(isValid)),
    status: search.status ?? members.status,
    with_errors: search.failed === true ? true : members.with_errors,
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
  return {
    filters: Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined)),
    problems: problems.map(problemText),
  };
}

/** Returns true if the term has no error. The engine rejects a query with an error. */
function isValid(term: Parameters<typeof traceQueryOf>[0][number]): boolean {
  const problems: QueryProblem[] = [];
  traceQueryOf([term], problems);
  return problems.length === 0;
}

/** Search parameters that remove all filters of the list. The order stays. */
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

/** Describes the active filters. Returns undefined if there are none. */
export function filterText(search: TraceSearch): string | undefined {
  const parts = (Object.keys(NO_FILTERS) as (keyof typeof NO_FILTERS)[]).flatMap((key) => {
    const value = search[key];
    if (key === "failed" && value === true) return [t`with errors`];
    if (value === undefined || (key === "range" && value === "all")) return [];
    return [key === "q" ? String(value) : `${key} ${Array.isArray(value) ? value.join(", ") : String(value)}`];
  });
  return parts.length === 0 ? undefined : parts.join(" · ");
}

/** Columns by which the list can be sorted, with the engine's names. */
const SORTS: Readonly<Record<string, string>> = {
  timestamp: "start_time",
  duration: "duration",
  name: t`name`,
  spans: "spans",
};

export function sortOf(search: TraceSearch): { readonly sort_by: string; readonly sort_order: "asc" | "desc" } {
  return { sort_by: SORTS[search.sort ?? ""] ?? "start_time", sort_order: search.dir ?? "desc" };
}
