import type { TraceSummary } from "../../../model/trace-types.ts";

/** Rows that the list keeps, at most. */
export const MAX_ROWS = 5_000;

export interface Merged {
  readonly rows: readonly TraceSummary[];
  /** Of these ids the list had no row. */
  readonly added: number;
}

/**
 * Takes what the engine said now about traces that changed: `asked` were looked up, `found` are those that match. Who does not match any more goes; who is
 * new stands where the order puts it.
 */
export function mergeRows(
  rows: readonly TraceSummary[],
  asked: ReadonlySet<string>,
  found: readonly TraceSummary[],
  compare: (a: TraceSummary, b: TraceSummary) => number,
): Merged {
  const known = new Set(rows.map(({ trace_id }) => trace_id));
  const news = new Map(found.map((row) => [row.trace_id, row]));
  const kept = rows.filter(({ trace_id }) => !asked.has(trace_id) || news.has(trace_id)).map((row) => news.get(row.trace_id) ?? row);
  const added = found.filter(({ trace_id }) => !known.has(trace_id));
  if (added.length === 0) return { rows: kept, added: 0 };
  return { rows: [...added, ...kept].sort(compare).slice(0, MAX_ROWS), added: added.length };
}

/** The order of the list, as the engine sorts. What has not ended counts as the longest. */
export function orderOf(sortBy: string, order: "asc" | "desc"): (a: TraceSummary, b: TraceSummary) => number {
  const sign = order === "asc" ? 1 : -1;
  return (a, b) => sign * (difference(a, b, sortBy) || (a.trace_id < b.trace_id ? -1 : a.trace_id > b.trace_id ? 1 : 0));
}

function difference(a: TraceSummary, b: TraceSummary, sortBy: string): number {
  if (sortBy === "name") return a.root_name < b.root_name ? -1 : a.root_name > b.root_name ? 1 : 0;
  if (sortBy === "spans") return a.span_count - b.span_count;
  if (sortBy !== "duration") return a.start_time_ms - b.start_time_ms;
  const [left, right] = [a.duration_ms ?? Number.MAX_VALUE, b.duration_ms ?? Number.MAX_VALUE];
  return left - right;
}
