import { useMemo } from "react";
import { parseFilter } from "../../lib/filter-grammar.ts";
import { rangeMs, type TimeWindow } from "../../lib/time-range.ts";
import { chipTerms, type LogSearch } from "./filter-terms.ts";
import { type LogFilter, logFilterOf } from "./log-filter.ts";

export const DEFAULT_RANGE = "all";

export interface LogQuery {
  /** Changes if and only if the query changes. */
  readonly key: string;
  readonly filter: LogFilter;
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
    const { filter, problems } = logFilterOf([...(JSON.parse(chips) as ReturnType<typeof chipTerms>), ...typed.terms]);
    const lengthMs = rangeMs(range);
    const isAbsolute = from !== undefined || to !== undefined;
    return {
      key: JSON.stringify([filter, from, to, range]),
      filter,
      window: (nowMs: number): TimeWindow => {
        if (isAbsolute)
          return { ...(from === undefined ? {} : { startMs: from }), ...(to === undefined ? {} : { endMs: to }) };
        return lengthMs === undefined ? {} : { startMs: nowMs - lengthMs };
      },
      isOpen: to === undefined,
      problems: [...typed.problems, ...problems],
      hasFilters: Object.keys(filter).length > 0,
    };
  }, [q, from, to, range, chips]);
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
