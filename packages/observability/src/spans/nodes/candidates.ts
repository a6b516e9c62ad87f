import type { TraceFilters } from "../trace-query.ts";

type Filter = NonNullable<TraceFilters["filters"]>[number];

/**
 * Returns filters that find each trace that matches the given filters as a whole, at one node at least. They also find
 * other traces. The reason: a node has only some of the spans of a trace, and each filter may match a span at another
 * node. So only one of the filters for spans is used. If there is none, the filters for the root span are used, which
 * is at one node.
 */
export function candidateFilters(filters: TraceFilters): TraceFilters {
  const { trace_id, trace_ids, text, start_time, end_time } = filters;
  const everywhere: TraceFilters = {
    ...definedIn({ trace_id, trace_ids, start_time, end_time }),
    include_internal: true,
    with_errors: false,
    search_all_spans: false,
  };
  const ofSpan = spanFilter(filters);
  if (ofSpan !== undefined) return { ...everywhere, ...ofSpan };
  if (text !== undefined) return { ...everywhere, text };
  if (filters.with_errors) return { ...everywhere, with_errors: true };
  const { status, name, trigger_type, min_duration_ms, max_duration_ms, include_internal } = filters;
  return {
    ...everywhere,
    ...definedIn({ status, name, trigger_type, min_duration_ms, max_duration_ms, include_internal }),
  };
}

function spanFilter({
  function_id,
  worker,
  attributes,
  filters,
  service_name,
  name,
  search_all_spans,
}: TraceFilters): Partial<TraceFilters> | undefined {
  if (function_id !== undefined) return { function_id };
  if (worker !== undefined) return { worker };
  const [pair] = attributes ?? [];
  if (pair !== undefined) return { attributes: [pair] };
  const filter = filters?.find(isPositive);
  if (filter !== undefined) return { filters: [filter] };
  if (service_name !== undefined) return { service_name };
  return search_all_spans && name !== undefined ? { name, search_all_spans } : undefined;
}

function isPositive({ op }: Filter): boolean {
  return !op.startsWith("not_");
}

function definedIn<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Members]?: Exclude<Members[Name], undefined>;
  };
}
