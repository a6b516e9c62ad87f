import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import type { LiveEvent } from "../../../../contract/live.ts";
import { call } from "../../../lib/api.ts";
import { live } from "../../../lib/live-connection.ts";
import { answerOf, pollWhileVisible, timed, untilNextPoll } from "../../../lib/poll-delay.ts";
import { rangeMs } from "../../../lib/time-range.ts";
import {
  type FacetsAnswer,
  type HistogramAnswer,
  isOfSeveral,
  type MergedFrom,
  type TraceListAnswer,
  type TraceSummary,
} from "../../../model/trace-types.ts";
import { followChanges, MAX_BATCH, tracesIn } from "../model/follow-changes.ts";
import { FALLBACK_RANGE, filtersOf, sortOf, type TraceSearch } from "../model/list-query.ts";
import { MAX_ROWS, mergeRows, orderOf } from "../model/live-rows.ts";
import { summaryMatcher } from "../model/summary-match.ts";

const PAGE = 100;
const STATS_EVERY_MS = 5_000;
/** Polling interval of facets in milliseconds, while the list contains changes that the facets do not count yet. */
const CHANGED_STATS_EVERY_MS = 1_000;
/** Maximum number of changed traces that are stored. It is as high as the number of rows that the list shows. */
const MAX_CHANGED = MAX_ROWS;

export interface Traces {
  readonly rows: readonly TraceSummary[];
  readonly total: number;
  readonly totalIsLowerBound: boolean;
  /** True if the engine ended its search before the page was full. More traces may match, even if `rows` is empty. */
  readonly isCutShort: boolean;
  readonly loaded: boolean;
  readonly error: Error | null;
  readonly retry: () => void;
  readonly loadMore: (() => void) | undefined;
  readonly isLoadingMore: boolean;
  /** Time of the last change that the engine reported, on the page's clock. It is 0 if there was none. */
  readonly changedAtMs: number;
  /** Number of new or changed traces that are not in `rows` yet. */
  readonly waiting: number;
  /** Adds the waiting traces to `rows`. */
  readonly showWaiting: () => void;
  readonly from: MergedFrom;
}

/** Returns a query key made of the filters, range and order in the address. */
function keyOf(search: TraceSearch): readonly unknown[] {
  return [filtersOf(search, 0), search.range ?? FALLBACK_RANGE, sortOf(search)];
}

/**
 * Loads the list and updates it. The engine sends summaries of changed traces. If a summary is not enough to decide
 * whether the trace matches, the page asks the engine for the traces that match. While `isHeld` (the list is paused or
 * scrolled away from the newest trace), changes wait until `showWaiting` is called.
 */
export function useTraces(search: TraceSearch, isHeld: boolean): Traces {
  const client = useQueryClient();
  const key = useMemo(() => ["traces", ...keyOf(search)], [search]);
  const query = useInfiniteQuery({
    queryKey: key,
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) =>
      call<TraceListAnswer>(
        "engine::traces::list",
        {
          ...filtersOf(search, Date.now()),
          ...sortOf(search),
          limit: PAGE,
          ...(pageParam === null ? {} : { cursor: pageParam }),
        },
        { signal },
      ),
    getNextPageParam: (last) => last.cursor,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const fetched = useMemo(() => {
    const seen = new Map<string, TraceSummary>();
    for (const page of query.data?.pages ?? [])
      for (const { trace } of page.spans) if (!seen.has(trace.trace_id)) seen.set(trace.trace_id, trace);
    return [...seen.values()];
  }, [query.data]);
  const from = query.data?.pages[0] ?? {};
  const overlay = useOverlay(search, fetched, {
    isReady: query.data !== undefined,
    isHeld,
    isPolled: isOfSeveral(from),
  });
  const last = query.data?.pages.at(-1);
  return {
    rows: overlay.rows,
    total: Math.max((query.data?.pages[0]?.total ?? 0) + overlay.added, overlay.rows.length),
    totalIsLowerBound: last?.total_is_lower_bound === true,
    isCutShort: last?.partial === true,
    loaded: query.data !== undefined,
    error: query.error ?? overlay.error,
    retry: () => void client.resetQueries({ queryKey: key }),
    loadMore: query.hasNextPage && !query.isFetching ? () => void query.fetchNextPage() : undefined,
    isLoadingMore: query.isFetchingNextPage,
    changedAtMs: overlay.changedAtMs,
    waiting: overlay.waiting,
    showWaiting: overlay.showWaiting,
    from: overlay.from ?? from,
  };
}

interface Listed {
  readonly traces: readonly TraceSummary[];
  /** True if all engines of the cluster answered. */
  readonly isWhole: boolean;
}

interface Overlay {
  /** Ids of the fetched traces that changed. */
  readonly changed: ReadonlySet<string>;
  /** Changed traces that match the filters, by id. */
  readonly found: ReadonlyMap<string, TraceSummary>;
  /** Time of the last change, on the page's clock. It is 0 if there was none. */
  readonly changedAtMs: number;
}
const NOTHING: Overlay = { changed: new Set(), found: new Map(), changedAtMs: 0 };

/**
 * Applies changes to the fetched rows: those that happened after the pages were fetched. With `isPolled`, changes are
 * also fetched, because an engine of a cluster reports only its own.
 */
function useOverlay(
  search: TraceSearch,
  fetched: readonly TraceSummary[],
  { isReady, isHeld, isPolled }: { readonly isReady: boolean; readonly isHeld: boolean; readonly isPolled: boolean },
) {
  const [overlay, setOverlay] = useState<Overlay>(NOTHING);
  const [shown, setShown] = useState<Overlay>(NOTHING);
  const [error, setError] = useState<Error | null>(null);
  const [from, setFrom] = useState<MergedFrom>();
  const latest = useRef({ search, fetched, rows: fetched });
  latest.current = { ...latest.current, search, fetched };
  const identity = JSON.stringify(keyOf(search));
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new list starts without changes
  useEffect(() => {
    setOverlay(NOTHING);
    setShown(NOTHING);
    setError(null);
    setFrom(undefined);
    if (!isReady) return;
    const filters = (): ReturnType<typeof filtersOf> => filtersOf(latest.current.search, Date.now());
    const abort = new AbortController();
    const list = async (query: object): Promise<Listed> => {
      const payload = { ...filters(), ...query };
      const answer = await call<TraceListAnswer>("engine::traces::list", payload, { signal: abort.signal });
      if (isPolled) setFrom(answer);
      return { traces: answer.spans.map(({ trace }) => trace), isWhole: answer.missing === undefined };
    };
    const load = async (from: () => Promise<void>): Promise<void> => {
      try {
        await from();
        setError(null);
      } catch (failure) {
        if (!abort.signal.aborted) setError(failure as Error);
      }
    };
    const apply = (ids: readonly string[], found: readonly TraceSummary[]): void => {
      const { sort_by, sort_order } = sortOf(latest.current.search);
      const known = new Set(latest.current.fetched.map(({ trace_id }) => trace_id));
      setOverlay((before) => withChanges(before, { ids, found, known, compare: orderOf(sort_by, sort_order) }));
    };
    /**
     * Ids of the traces that the engine reported while `onSync` was fetching. The fetched data of these traces may be
     * older than the report.
     */
    let reported: Set<string> | undefined;
    /** Fetches the changes between the last fetch and the sync. The engine does not report these. */
    const onSync = (): Promise<void> =>
      load(async () => {
        const newer = new Set<string>();
        reported = newer;
        const shown = new Map(
          latest.current.rows.slice(0, MAX_BATCH).map((row) => [row.trace_id, JSON.stringify(row)]),
        );
        const [first, again] = await Promise.all([
          list({ ...sortOf(latest.current.search), limit: PAGE }),
          shown.size === 0 ? { traces: [], isWhole: true } : list({ trace_ids: [...shown.keys()], limit: MAX_BATCH }),
        ]);
        if (reported === newer) reported = undefined;
        const answers = new Map([...first.traces, ...again.traces].map((row) => [row.trace_id, row]));
        // If a trace is not in the result, it may belong to an engine that did not answer.
        const isChanged = (id: string): boolean =>
          !newer.has(id) &&
          (answers.has(id) ? shown.get(id) !== JSON.stringify(answers.get(id)) : first.isWhole && again.isWhole);
        const ids = [...new Set([...shown.keys(), ...answers.keys()])].filter(isChanged);
        if (ids.length > 0)
          apply(
            ids,
            ids.map((id) => answers.get(id)).filter((row) => row !== undefined),
          );
      });
    const fetchChanged = (ids: readonly string[]): Promise<void> =>
      load(async () => {
        const { traces, isWhole } = await list({ trace_ids: ids, limit: MAX_BATCH });
        const changed = isWhole ? ids : traces.map(({ trace_id }) => trace_id);
        for (const id of changed) reported?.add(id);
        apply(changed, traces);
      });
    const onSummaries = ({ data }: LiveEvent): void => {
      const matches = summaryMatcher(filters());
      if (matches === undefined) return;
      const changed = tracesIn(data);
      const ids = changed.map(({ trace_id }) => trace_id);
      for (const id of ids) reported?.add(id);
      apply(ids, changed.filter(matches));
    };
    const unsubscribe =
      summaryMatcher(filters()) === undefined
        ? followChanges(fetchChanged, onSync)
        : live.subscribe("svc.traces", "all", { onSync: () => void onSync(), onEvent: onSummaries });
    const stopPolling = isPolled ? pollWhileVisible(onSync, STATS_EVERY_MS) : () => {};
    return () => {
      abort.abort();
      stopPolling();
      unsubscribe();
    };
  }, [identity, isReady, isPolled]);
  useEffect(() => {
    if (!isHeld) setShown(overlay);
  }, [isHeld, overlay]);
  const merged = useMemo(() => {
    const { sort_by, sort_order } = sortOf(latest.current.search);
    return mergeRows(fetched, shown.changed, [...shown.found.values()], orderOf(sort_by, sort_order));
  }, [fetched, shown]);
  latest.current.rows = merged.rows;
  const waiting = overlay === shown ? 0 : [...overlay.found].filter(([id, row]) => shown.found.get(id) !== row).length;
  return {
    rows: merged.rows,
    added: merged.added,
    waiting,
    error,
    from,
    changedAtMs: overlay.changedAtMs,
    showWaiting: () => setShown(overlay),
  };
}

/** Adds changed traces. `found` are those that match. Only a limited number is stored: the first ones by `compare`. */
function withChanges(
  before: Overlay,
  {
    ids,
    found,
    known,
    compare,
  }: {
    readonly ids: readonly string[];
    readonly found: readonly TraceSummary[];
    /** Ids of the fetched traces. */
    readonly known: ReadonlySet<string>;
    readonly compare: (a: TraceSummary, b: TraceSummary) => number;
  },
): Overlay {
  const all = new Map(before.found);
  for (const id of ids) all.delete(id);
  for (const trace of found) all.set(trace.trace_id, trace);
  const isOver = all.size > MAX_CHANGED;
  const held = isOver ? [...all.values()].sort(compare).slice(0, MAX_CHANGED) : undefined;
  return {
    changed: new Set([...before.changed, ...ids.filter((id) => known.has(id))]),
    found: held === undefined ? all : new Map(held.map((trace) => [trace.trace_id, trace])),
    changedAtMs: Date.now(),
  };
}

/**
 * Loads counts of all matching traces. They are polled while the range ends now. After a change of the list
 * (`changedAtMs`, on the page's clock), they are polled sooner, unless the list had also changed shortly before the
 * last poll. The reason for the exception: if traces arrive all the time, such polls would only load the engine.
 */
export function useTraceStats(search: TraceSearch, isPaused: boolean, changedAtMs: number) {
  const filtersKey = keyOf(search)[0];
  const isRolling = search.to === undefined && !isPaused;
  const options = { staleTime: STATS_EVERY_MS, placeholderData: keepPreviousData };
  const lastChange = useRef(changedAtMs);
  lastChange.current = changedAtMs;
  /** Time of the last change that happened before the last poll. */
  const changedBefore = useRef(0);
  const isNewChange = (askedAtMs: number): boolean =>
    askedAtMs < changedAtMs && changedBefore.current < askedAtMs - STATS_EVERY_MS;
  const facets = useQuery({
    queryKey: ["trace-facets", filtersKey, search.range],
    queryFn: ({ signal }) => {
      changedBefore.current = lastChange.current;
      return timed(() => call<FacetsAnswer>("engine::traces::facets", filtersOf(search, Date.now()), { signal }));
    },
    ...options,
    select: answerOf,
    refetchInterval: ({ state: { data } }) =>
      isRolling && untilNextPoll(data, isNewChange(data?.askedAtMs ?? 0) ? CHANGED_STATS_EVERY_MS : STATS_EVERY_MS),
  });
  const histogram = useQuery({
    queryKey: ["trace-histogram", filtersKey, search.range],
    queryFn: ({ signal }) => {
      const now = Date.now();
      const filters = filtersOf(search, now);
      // A range that moves with the clock is drawn up to the current time, even if the last traces are older.
      const end =
        rangeMs(search.range ?? FALLBACK_RANGE) === undefined || filters.end_time !== undefined
          ? {}
          : { end_time: now };
      return timed(() =>
        call<HistogramAnswer>("engine::traces::histogram", { ...filters, buckets: 60, ...end }, { signal }),
      );
    },
    ...options,
    select: answerOf,
    refetchInterval: ({ state: { data } }) => isRolling && untilNextPoll(data, STATS_EVERY_MS),
  });
  return { facets, histogram };
}
