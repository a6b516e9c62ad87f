import {
  activeTerms,
  type FilterTerm,
  formatFilter,
  type LogMembers,
  logQueryOf,
  type LogQuery as ParsedQuery,
  parseFilter,
  problemText,
  type QueryProblem,
} from "@svc-runtime/protocol/query";
import { useMemo } from "react";
import { rangeMs, type TimeWindow } from "../../lib/time-range.ts";
import { chipTerms, type LogSearch } from "./filter-terms.ts";

export const DEFAULT_RANGE = "all";

export type LogFilter = LogMembers & { readonly query?: string };

export interface LogQuery {
  /** Key of the query. Equal queries have the same key. */
  readonly key: string;
  /** Members of the payload that all log functions of the engine accept. The page adds the time range. */
  readonly filter: LogFilter;
  /** The same filter, in the form that live entries are tested with. */
  readonly parsed: ParsedQuery;
  /** Returns the time range at `nowMs`. If the range is relative, its start moves with the time. */
  window(nowMs: number): TimeWindow;
  /** True if the range has no end, so that new entries may match. */
  readonly isOpen: boolean;
  readonly problems: readonly string[];
  readonly hasFilters: boolean;
}

/** Returns the query of the URL's search parameters. */
export function useLogQuery(search: LogSearch): LogQuery {
  const { q = "", from, to, range = DEFAULT_RANGE } = search;
  const chips = JSON.stringify(chipTerms(search));
  return useMemo(() => {
    const typed = parseFilter(q);
    const terms = activeTerms([...(JSON.parse(chips) as ReturnType<typeof chipTerms>), ...typed.terms]);
    const problems: QueryProblem[] = [...typed.problems];
    const parsed = logQueryOf(terms, problems);
    const filter = filterOf(parsed, terms);
    const lengthMs = rangeMs(range);
    const isAbsolute = from !== undefined || to !== undefined;
    return {
      key: JSON.stringify([filter, from, to, range]),
      filter,
      parsed,
      window: (nowMs: number): TimeWindow => {
        if (isAbsolute)
          return { ...(from === undefined ? {} : { startMs: from }), ...(to === undefined ? {} : { endMs: to }) };
        return lengthMs === undefined ? {} : { startMs: nowMs - lengthMs };
      },
      isOpen: to === undefined,
      problems: problems.map(problemText),
      hasFilters: Object.keys(filter).length > 0,
    };
  }, [q, from, to, range, chips]);
}

/**
 * Returns the filter for the engine. If the query has alternatives, members cannot express it, so the text of the query
 * is sent. Terms with an error are left out of it.
 */
function filterOf({ members, groups }: ParsedQuery, terms: readonly FilterTerm[]): LogFilter {
  if (groups.length === 0) return members;
  const isValid = (term: FilterTerm): boolean => {
    const problems: QueryProblem[] = [];
    logQueryOf([term], problems);
    return problems.length === 0;
  };
  return { query: formatFilter(terms.filter(isValid)) };
}

/** Returns the members of a payload for a time range. */
export function windowMembers({ startMs, endMs }: TimeWindow): {
  readonly start_time?: number;
  readonly end_time?: number;
} {
  return {
    ...(startMs === undefined ? {} : { start_time: startMs }),
    ...(endMs === undefined ? {} : { end_time: endMs }),
  };
}
