import type { TraceSummary } from "../../../model/trace-types.ts";
import type { TraceFilters } from "./list-query.ts";

/** Filters that can be tested with the summary of a trace. For all other filters, the engine must read the trace. */
const DECIDED = new Set([
  "status",
  "with_errors",
  "name",
  "trigger_type",
  "min_duration_ms",
  "max_duration_ms",
  "start_time",
  "end_time",
  "include_internal",
]);

/**
 * Returns a function that tests a trace by its summary, in the same way as the engine does. Returns undefined if a
 * filter needs more than the summary.
 */
export function summaryMatcher(filters: TraceFilters): ((summary: TraceSummary) => boolean) | undefined {
  if (Object.keys(filters).some((name) => !DECIDED.has(name))) return undefined;
  const wanted = filters as {
    readonly status?: string;
    readonly with_errors?: boolean;
    readonly name?: string;
    readonly trigger_type?: string;
    readonly min_duration_ms?: number;
    readonly max_duration_ms?: number;
    readonly start_time?: number;
    readonly end_time?: number;
  };
  const tests: ((summary: TraceSummary) => boolean)[] = [];
  const { status, with_errors, name, trigger_type, min_duration_ms, max_duration_ms, start_time, end_time } = wanted;
  if (status !== undefined) tests.push((trace) => trace.status === status.toLowerCase());
  if (with_errors === true) tests.push(({ error_count }) => error_count > 0);
  if (name !== undefined) tests.push(({ root_name }) => root_name.toLowerCase().includes(name.toLowerCase()));
  if (trigger_type !== undefined) tests.push((trace) => trace.trigger_type === trigger_type);
  if (min_duration_ms !== undefined)
    tests.push(({ duration_ms }) => duration_ms !== null && duration_ms >= min_duration_ms);
  if (max_duration_ms !== undefined)
    tests.push(({ duration_ms }) => duration_ms !== null && duration_ms <= max_duration_ms);
  if (end_time !== undefined) tests.push(({ start_time_ms }) => start_time_ms <= end_time);
  if (start_time !== undefined) tests.push((trace) => endOf(trace) >= start_time);
  return (trace) => tests.every((test) => test(trace));
}

/** Returns the time of the last end in the trace. It is infinite while the trace is running. */
function endOf({ start_time_ms, duration_ms, async_work }: TraceSummary): number {
  const untilMs = async_work === undefined ? duration_ms : async_work.until_ms;
  return untilMs === null || duration_ms === null
    ? Number.POSITIVE_INFINITY
    : start_time_ms + Math.max(duration_ms, untilMs);
}
