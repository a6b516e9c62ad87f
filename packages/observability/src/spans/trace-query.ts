import { readTraceQuery, type TraceQuery } from "@svc-runtime/protocol/query";
import { z } from "zod";
import { cursorSchema } from "../query/cursor.ts";
import {
  attributePairsSchema,
  type Filter,
  filtersSchema,
  oneOf,
  querySchema,
  rejectProblems,
} from "../query/filter-input.ts";

const TRACE_STATUSES = ["ok", "error", "pending"];
const MAX_TRACE_IDS = 1_000;
const name = z.string().min(1).max(512);
const traceId = z.string().min(1).max(64);
const milliseconds = z.number();

const filterMembers = () => ({
  query: querySchema.optional(),
  trace_id: traceId.optional(),
  trace_ids: z.array(traceId).max(MAX_TRACE_IDS).optional(),
  service_name: name.optional().meta({ description: "Part of the name of a service in the trace, case-insensitive" }),
  name: name
    .optional()
    .meta({ description: "Part of the root span's name, case-insensitive; with search_all_spans of any span's name" }),
  status: oneOf(TRACE_STATUSES).optional().meta({ description: "Status of the root span: ok, error or pending" }),
  with_errors: z
    .boolean()
    .default(false)
    .meta({ description: "Only traces with a failed span, whatever the root span's status" }),
  function_id: name.optional().meta({ description: "Function that a span of the trace ran" }),
  worker: name.optional().meta({ description: "Name or id of a worker that ran a span of the trace" }),
  trigger_type: name.optional().meta({ description: "What started the trace, e.g. http, cron, queue" }),
  text: z.string().max(1_024).optional().meta({
    description:
      "Words or prefixes of words in one span: its name, service, attributes, events and error. A trace id finds the trace",
  }),
  min_duration_ms: milliseconds.optional().meta({ description: "Duration of the root span, as max_duration_ms" }),
  max_duration_ms: milliseconds.optional(),
  start_time: milliseconds
    .optional()
    .meta({ description: "Milliseconds since 1970; traces that ended before are left out" }),
  end_time: milliseconds
    .optional()
    .meta({ description: "Milliseconds since 1970; traces that began later are left out" }),
  attributes: attributePairsSchema.optional().meta({ description: "Attributes that spans of the trace have" }),
  filters: filtersSchema
    .optional()
    .meta({ description: "Each must match a span of the trace; a not_ filter must hold for all spans" }),
  exclude_attributes: attributePairsSchema.optional().meta({ description: "Attributes that no span of the trace has" }),
  include_internal: z.boolean().default(false),
  search_all_spans: z.boolean().default(false),
});

export const traceFiltersSchema = () => z.object(filterMembers());
export type TraceFilterInput = z.infer<ReturnType<typeof traceFiltersSchema>>;

/** Filters of traces. All members must match. */
export type TraceFilters = Omit<TraceFilterInput, "query"> & {
  /** The parts of a query that the other members cannot express. */
  readonly groups?: readonly FilterGroup[];
};

/** A group matches if one of its filters matches. A negated group matches if none of them does. */
export interface FilterGroup {
  readonly negated: boolean;
  readonly any: readonly TraceFilters[];
}

/** Converts the query into the other members. Throws `invalid_input` if the query has an error. */
export function traceFiltersOf({ query, ...given }: TraceFilterInput): TraceFilters {
  if (query === undefined) return given;
  const read = readTraceQuery(query);
  rejectProblems(read.problems);
  return withQuery(given, read.query);
}

/**
 * Members that hold one value. If the query sets one that is already set, both must match, so the second becomes a
 * group.
 */
const SINGLE = ["status", "function_id", "worker", "trigger_type", "trace_id", "text"] as const;
const NO_FILTERS: TraceFilters = { with_errors: false, include_internal: true, search_all_spans: false };

function withQuery(given: TraceFilters, { members, groups }: TraceQuery): TraceFilters {
  const { with_errors, min_duration_ms, max_duration_ms, filters, ...single } = members;
  const others = SINGLE.filter((name) => single[name] !== undefined && given[name] !== undefined);
  const added: FilterGroup[] = groups.map(({ negated, any }) => ({
    negated,
    any: any.map((each) => withQuery(NO_FILTERS, each)),
  }));
  for (const name of others) added.push({ negated: false, any: [{ ...NO_FILTERS, [name]: single[name] }] });
  return {
    ...single,
    ...definedIn(given),
    with_errors: given.with_errors || with_errors === true,
    ...boundsOf(given, { min_duration_ms, max_duration_ms }),
    ...(filters === undefined ? {} : { filters: [...(given.filters ?? []), ...(filters as readonly Filter[])] }),
    ...(added.length === 0 ? {} : { groups: added }),
  };
}

function definedIn(filters: TraceFilters): TraceFilters {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined)) as TraceFilters;
}

function boundsOf(
  { min_duration_ms: min = -Infinity, max_duration_ms: max = Infinity }: TraceFilters,
  query: { readonly min_duration_ms: number | undefined; readonly max_duration_ms: number | undefined },
): Pick<TraceFilters, "min_duration_ms" | "max_duration_ms"> {
  const least = Math.max(min, query.min_duration_ms ?? -Infinity);
  const most = Math.min(max, query.max_duration_ms ?? Infinity);
  return {
    ...(least === -Infinity ? {} : { min_duration_ms: least }),
    ...(most === Infinity ? {} : { max_duration_ms: most }),
  };
}

export const traceSortSchema = z.enum(["start_time", "duration", "name", "spans"]);
export type TraceSort = z.infer<typeof traceSortSchema>;

export const traceListSchema = () =>
  z.object({
    ...filterMembers(),
    offset: z.int().min(0).max(1_000_000).default(0),
    limit: z.int().min(1).max(1_000).default(100),
    cursor: cursorSchema.optional().meta({
      description:
        "The `cursor` of the previous page; offset is ignored then. After `partial: true` it continues the search",
    }),
    sort_by: traceSortSchema.default("start_time"),
    sort_order: z.enum(["asc", "desc"]).default("desc"),
  });

/**
 * The position after which a page begins: that of the row with this sort value and this id (`tie`). The id
 * distinguishes rows with the same sort value.
 */
export interface TracePosition {
  readonly value: string | number;
  readonly tie: string | number;
}

export interface TraceListRequest {
  readonly filters: TraceFilters;
  readonly sortBy: TraceSort;
  readonly descending: boolean;
  readonly after: TracePosition | undefined;
  readonly offset: number;
  readonly limit: number;
  /** The spans to return besides the facts: none, the root span, or all (the first 1,000 spans of each trace). */
  readonly spans: "none" | "root" | "all";
  /** True if the total may be any lower bound, because the caller does not use it. */
  readonly isUncounted?: true;
}
