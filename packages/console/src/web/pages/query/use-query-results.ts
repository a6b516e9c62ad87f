import {
  LOG_FIELDS,
  problemText,
  type QueryField,
  readLogQuery,
  readStateQuery,
  readTraceQuery,
  STATE_FIELDS,
  TRACE_FIELDS,
} from "@svc-runtime/protocol/query";
import { type UseQueryResult, useQueries } from "@tanstack/react-query";
import type { SearchOf } from "../../app/search.ts";
import { t } from "../../labels/translate.ts";
import { call } from "../../lib/api.ts";
import { CALLS_BY_CONSOLES } from "../../lib/calls-by-consoles.ts";
import { windowOf } from "../../lib/time-range.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { type FoundItem, queryState } from "../../model/state-query.ts";
import type { TraceListAnswer, TraceSummary } from "../../model/trace-types.ts";

export const FALLBACK_RANGE = "all";
/**
 * Maximum number of results of each kind. It is low, so that all kinds are visible. The page of a kind shows all
 * results.
 */
const LIMIT = 10;

export interface FoundLog {
  readonly id: string;
  readonly timestamp_ms: number;
  readonly severity_text: string;
  readonly service_name: string;
  readonly body: unknown;
  readonly attributes?: Readonly<Record<string, unknown>>;
}

export type ResultRow =
  | { readonly kind: "trace"; readonly id: string; readonly trace: TraceSummary }
  | { readonly kind: "log"; readonly id: string; readonly log: FoundLog }
  | { readonly kind: "item"; readonly id: string; readonly item: FoundItem };

type SectionName = "traces" | "logs" | "state";

export const SECTION_NAMES: Readonly<Record<SectionName, string>> = {
  traces: t`Traces`,
  logs: t`Logs`,
  state: t`State`,
};

export interface Section {
  readonly name: SectionName;
  readonly rows: readonly ResultRow[];
  /** Number of results, for example `50 of 1,204`. Undefined while the search runs. */
  readonly countText: string | undefined;
  /** Reason why the query cannot be used for this kind, or why the search failed. */
  readonly problem: string | undefined;
}

interface Answer {
  readonly rows: readonly ResultRow[];
  readonly countText: string;
}

/** Fields of all kinds. A name that several kinds have is listed once. */
export const ALL_FIELDS: readonly QueryField[] = [...TRACE_FIELDS, ...LOG_FIELDS, ...STATE_FIELDS].filter(
  (field, at, all) => all.findIndex(({ name }) => name === field.name) === at,
);

/**
 * Searches traces, logs and state with one query. Each kind is searched separately. A kind that does not know a field
 * of the query is not searched.
 */
export function useQueryResults(search: SearchOf<"query">): {
  readonly sections: readonly Section[];
  readonly isSearching: boolean;
  readonly retry: () => void;
} {
  const { generation } = useLiveState();
  const query = (search.q ?? "").trim();
  const kinds = KINDS.map((kind) => ({ ...kind, problem: kind.read(query).problems[0] }));
  const results = useQueries({
    queries: kinds.map(({ name, find, problem }) => ({
      queryKey: ["query", name, query, search.from, search.to, search.range, generation],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) => find(query, search, signal),
      enabled: query !== "" && problem === undefined,
      gcTime: 0,
    })),
  }) as readonly UseQueryResult<Answer>[];
  return {
    sections: kinds.map(({ name, problem }, at) => {
      const result = results[at];
      return {
        name,
        rows: problem === undefined ? (result?.data?.rows ?? []) : [],
        countText: problem === undefined ? result?.data?.countText : undefined,
        problem: problem === undefined ? result?.error?.message : t`not searched: ${problemText(problem)}`,
      };
    }),
    isSearching: results.some(({ isFetching }) => isFetching),
    retry: () => {
      for (const [at, { refetch }] of results.entries()) if (kinds[at]?.problem === undefined) void refetch();
    },
  };
}

interface Kind {
  readonly name: SectionName;
  readonly read: (query: string) => { readonly problems: readonly { readonly at: number; readonly message: string }[] };
  readonly find: (query: string, search: SearchOf<"query">, signal: AbortSignal) => Promise<Answer>;
}

const KINDS: readonly Kind[] = [
  { name: "traces", read: readTraceQuery, find: findTraces },
  { name: "logs", read: readLogQuery, find: findLogs },
  { name: "state", read: readStateQuery, find: findItems },
];

function rangeMembers(search: SearchOf<"query">): { readonly start_time?: number; readonly end_time?: number } {
  const { startMs, endMs } = windowOf(search, FALLBACK_RANGE, Date.now());
  return {
    ...(startMs === undefined ? {} : { start_time: startMs }),
    ...(endMs === undefined ? {} : { end_time: endMs }),
  };
}

async function findTraces(query: string, search: SearchOf<"query">, signal: AbortSignal): Promise<Answer> {
  const answer = await call<TraceListAnswer>(
    "engine::traces::list",
    { query, ...rangeMembers(search), limit: LIMIT, exclude_attributes: CALLS_BY_CONSOLES },
    { signal },
  );
  const rows = answer.spans.map(({ trace }) => ({ kind: "trace" as const, id: `trace ${trace.trace_id}`, trace }));
  const isLower = answer.total_is_lower_bound === true || answer.partial === true;
  return { rows, countText: countText(rows.length, answer.total, isLower) };
}

async function findLogs(query: string, search: SearchOf<"query">, signal: AbortSignal): Promise<Answer> {
  interface Found {
    readonly logs: readonly FoundLog[];
    readonly total: number;
  }
  const answer = await call<Found>("engine::logs::list", { query, ...rangeMembers(search), limit: LIMIT }, { signal });
  const rows = answer.logs.map((log) => ({ kind: "log" as const, id: `log ${log.id}`, log }));
  return { rows, countText: countText(rows.length, answer.total ?? rows.length, false) };
}

async function findItems(query: string, _search: SearchOf<"query">, signal: AbortSignal): Promise<Answer> {
  const answer = await queryState(query, { limit: LIMIT, withSystem: false, signal });
  const rows = answer.items.map((item) => ({
    ...{ kind: "item" as const, item },
    id: `item ${JSON.stringify([item.scope, item.key])}`,
  }));
  // Not all items were searched. The States page can continue the search.
  const isPart = answer.cursor !== null && rows.length < LIMIT;
  return {
    rows,
    countText: isPart
      ? t`${rows.length} in the first ${answer.scanned} items`
      : countText(rows.length, rows.length, answer.cursor !== null),
  };
}

function countText(shown: number, total: number, isLowerBound: boolean): string {
  const number = (count: number): string => count.toLocaleString("en-GB");
  const all = Math.max(total, shown);
  if (isLowerBound) return t`${number(shown)} of at least ${number(all)}`;
  return shown < all ? t`${number(shown)} of ${number(all)}` : number(all);
}
