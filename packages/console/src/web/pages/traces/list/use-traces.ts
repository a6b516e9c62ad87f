import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { call } from "../../../lib/api.ts";
import { live } from "../../../lib/live-connection.ts";
import { rangeMs } from "../../../lib/time-range.ts";
import type { FacetsAnswer, HistogramAnswer, TraceListAnswer, TraceSummary } from "../../../model/trace-types.ts";
import { FALLBACK_RANGE, filtersOf, sortOf, type TraceSearch } from "../model/list-query.ts";
import { mergeRows, orderOf } from "../model/live-rows.ts";

const PAGE = 100;
/** Changed traces are fetched in batches, this long after the first change, in milliseconds. */
const FETCH_DELAY_MS = 400;
/** Maximum number of changed traces in a batch. */
const MAX_WAITING = 1_000;
const STATS_EVERY_MS = 5_000;
/** Polling interval of facets that do not match the list's total yet, in milliseconds. */
const STALE_STATS_EVERY_MS = 1_000;

export interface Traces {
  readonly rows: readonly TraceSummary[];
  readonly total: number;
  readonly totalIsLowerBound: boolean;
  /** The engine stopped its search before the page was full. More traces may match, even if `rows` is empty. */
  readonly isCutShort: boolean;
  readonly loaded: boolean;
  readonly error: Error | null;
  readonly retry: () => void;
  readonly loadMore: (() => void) | undefined;
  readonly isLoadingMore: boolean;
  /** Number of new or changed traces that are not in `rows` yet. */
  readonly waiting: number;
  /** Adds the waiting traces to `rows`. */
  readonly showWaiting: () => void;
}

/** Returns the filters, range and order of the address as a query key. */
function keyOf(search: TraceSearch): readonly unknown[] {
  return [filtersOf(search, 0), search.range ?? FALLBACK_RANGE, sortOf(search)];
}

/**
 * Loads the list and keeps it up to date: the engine reports changed traces, and the page fetches those that match.
 * While `isHeld` (paused, or scrolled away from the newest), changes wait until `showWaiting` is called.
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
  const overlay = useOverlay(search, fetched, query.data !== undefined, isHeld);
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
    waiting: overlay.waiting,
    showWaiting: overlay.showWaiting,
  };
}

interface Overlay {
  /** Ids of the traces that changed. */
  readonly changed: ReadonlySet<string>;
  /** The changed traces that match the filters. */
  readonly found: ReadonlyMap<string, TraceSummary>;
}
const NOTHING: Overlay = { changed: new Set(), found: new Map() };

/** Applies the changes since the pages were fetched to their rows. */
function useOverlay(search: TraceSearch, fetched: readonly TraceSummary[], isReady: boolean, isHeld: boolean) {
  const [overlay, setOverlay] = useState<Overlay>(NOTHING);
  const [shown, setShown] = useState<Overlay>(NOTHING);
  const [error, setError] = useState<Error | null>(null);
  const latest = useRef(search);
  latest.current = search;
  const identity = JSON.stringify(keyOf(search));
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new list starts without changes
  useEffect(() => {
    setOverlay(NOTHING);
    setShown(NOTHING);
    setError(null);
    if (!isReady) return;
    return followChanges(async (ids, signal) => {
      try {
        const answer = await call<TraceListAnswer>(
          "engine::traces::list",
          { ...filtersOf(latest.current, Date.now()), trace_ids: ids, limit: MAX_WAITING },
          { signal },
        );
        setError(null);
        setOverlay((before) => {
          const found = new Map(before.found);
          for (const id of ids) found.delete(id);
          for (const { trace } of answer.spans) found.set(trace.trace_id, trace);
          return { changed: new Set([...before.changed, ...ids]), found };
        });
      } catch (failure) {
        if (!signal.aborted) setError(failure as Error);
      }
    });
  }, [identity, isReady]);
  useEffect(() => {
    if (!isHeld) setShown(overlay);
  }, [isHeld, overlay]);
  const merged = useMemo(() => {
    const { sort_by, sort_order } = sortOf(latest.current);
    return mergeRows(fetched, shown.changed, [...shown.found.values()], orderOf(sort_by, sort_order));
  }, [fetched, shown]);
  const waiting = overlay === shown ? 0 : [...overlay.found].filter(([id, row]) => shown.found.get(id) !== row).length;
  return { rows: merged.rows, added: merged.added, waiting, error, showWaiting: () => setShown(overlay) };
}

/** Calls `fetchChanged` with the ids of changed traces, one call at a time. Returns a function that stops it. */
export function followChanges(
  fetchChanged: (ids: readonly string[], signal: AbortSignal) => Promise<void>,
): () => void {
  const abort = new AbortController();
  let changed = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isFetching = false;
  const schedule = (): void => {
    if (timer !== undefined || isFetching || changed.size === 0 || abort.signal.aborted) return;
    timer = setTimeout(() => {
      timer = undefined;
      isFetching = true;
      const ids = [...changed];
      changed = new Set();
      void fetchChanged(ids, abort.signal).finally(() => {
        isFetching = false;
        schedule();
      });
    }, FETCH_DELAY_MS);
  };
  const leave = live.subscribe("svc.traces", "all", {
    onEvent(event) {
      for (const id of changedIn(event.data)) if (changed.size < MAX_WAITING) changed.add(id);
      schedule();
    },
  });
  return () => {
    leave();
    clearTimeout(timer);
    abort.abort();
  };
}

/** Returns the ids in an event of the form `{traces: [summary, …]}`, with or without its envelope. */
function changedIn(data: unknown): readonly string[] {
  const body = data as {
    readonly traces?: readonly TraceSummary[];
    readonly data?: { readonly traces?: readonly TraceSummary[] };
  } | null;
  return (body?.traces ?? body?.data?.traces ?? []).map(({ trace_id }) => trace_id);
}

/**
 * Loads counts over all matching traces. Polls them while the range ends now, and faster while they differ from the
 * list's `total`.
 */
export function useTraceStats(search: TraceSearch, isPaused: boolean, total: number) {
  const filtersKey = keyOf(search)[0];
  const isRolling = search.to === undefined && !isPaused;
  const options = {
    staleTime: STATS_EVERY_MS,
    refetchInterval: isRolling ? STATS_EVERY_MS : (false as const),
    placeholderData: keepPreviousData,
  };
  const facets = useQuery({
    queryKey: ["trace-facets", filtersKey, search.range],
    queryFn: ({ signal }) => call<FacetsAnswer>("engine::traces::facets", filtersOf(search, Date.now()), { signal }),
    ...options,
    refetchInterval: ({ state }) => isRolling && (state.data?.total === total ? STATS_EVERY_MS : STALE_STATS_EVERY_MS),
  });
  const histogram = useQuery({
    queryKey: ["trace-histogram", filtersKey, search.range],
    queryFn: ({ signal }) => {
      const now = Date.now();
      const filters = filtersOf(search, now);
      // A rolling range is drawn up to the current time, also if the last traces are older.
      return call<HistogramAnswer>(
        "engine::traces::histogram",
        {
          ...filters,
          buckets: 60,
          ...(rangeMs(search.range ?? FALLBACK_RANGE) === undefined || filters.end_time !== undefined
            ? {}
            : { end_time: now }),
        },
        { signal },
      );
    },
    ...options,
  });
  return { facets, histogram };
}
