import { plural, t } from "../../../labels/translate.ts";
import type { TraceSummary } from "../../../model/trace-types.ts";

/** Maximum number of rows in the list. */
export const MAX_ROWS = 5_000;

interface Merged {
  readonly rows: readonly TraceSummary[];
  /** Number of rows that were not in the list before. */
  readonly added: number;
}

/**
 * Merges changed traces into the rows. `changed` has the ids of all changed traces. `found` has those of them that
 * match the filters. Rows that no longer match are removed. New rows are inserted in the order of `compare`.
 */
export function mergeRows(
  rows: readonly TraceSummary[],
  changed: ReadonlySet<string>,
  found: readonly TraceSummary[],
  compare: (a: TraceSummary, b: TraceSummary) => number,
): Merged {
  const known = new Set(rows.map(({ trace_id }) => trace_id));
  const updates = new Map(found.map((row) => [row.trace_id, row]));
  const kept = rows
    .filter(({ trace_id }) => !changed.has(trace_id) || updates.has(trace_id))
    .map((row) => updates.get(row.trace_id) ?? row);
  const added = found.filter(({ trace_id }) => !known.has(trace_id));
  if (added.length === 0) return { rows: kept, added: 0 };
  return { rows: [...added, ...kept].sort(compare).slice(0, MAX_ROWS), added: added.length };
}

/** Returns a comparator for the engine's sort order. A trace that has not ended counts as the longest. */
export function orderOf(sortBy: string, order: "asc" | "desc"): (a: TraceSummary, b: TraceSummary) => number {
  const sign = order === "asc" ? 1 : -1;
  return (a, b) =>
    sign * (difference(a, b, sortBy) || (a.trace_id < b.trace_id ? -1 : a.trace_id > b.trace_id ? 1 : 0));
}

function difference(a: TraceSummary, b: TraceSummary, sortBy: string): number {
  if (sortBy === "name") return a.root_name < b.root_name ? -1 : a.root_name > b.root_name ? 1 : 0;
  if (sortBy === "spans") return a.span_count - b.span_count;
  if (sortBy !== "duration") return a.start_time_ms - b.start_time_ms;
  const [left, right] = [a.duration_ms ?? Number.MAX_VALUE, b.duration_ms ?? Number.MAX_VALUE];
  return left - right;
}

/**
 * Describes how many rows are shown. If the search was cut short, the text says "so far", because there may be more
 * traces.
 */
export function statusText(list: {
  readonly shown: number;
  readonly total: number;
  readonly totalIsLowerBound: boolean;
  readonly isCutShort: boolean;
  readonly isLoadingMore: boolean;
}): string {
  if (list.isLoadingMore) return list.isCutShort ? t`Searching` : t`Loading more`;
  if (!list.isCutShort)
    return list.totalIsLowerBound
      ? t`${list.shown} of ${list.total} or more traces`
      : t`${list.shown} of ${list.total} traces`;
  const found = list.shown === 0 ? t`No trace matches so far` : plural(list.shown, "# trace so far", "# traces so far");
  return t`${found}: the search was stopped because it took too long`;
}
