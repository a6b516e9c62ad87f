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
  /** Changes if and only if the query changes. */
  readonly key: string;
  /** Payload members that all log functions of the engine accept. The page adds the time range. */
  readonly filter: LogFilter;
  /** The same filter, for live entries. */
  readonly parsed: ParsedQuery;
  /** Returns the time range at `nowMs`. The start of a relative range moves with it. */
  window(nowMs: number): TimeWindow;
  /** Whether the range has no end, so that new entries can match. */
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

/** Alternatives are no members: the engine gets the query, without terms that have an error. */
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
