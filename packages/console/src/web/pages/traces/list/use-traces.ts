import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { call } from "../../../lib/api.ts";
import { live } from "../../../lib/live-connection.ts";
import { rangeMs } from "../../../lib/time-range.ts";
import type { FacetsAnswer, HistogramAnswer, TraceListAnswer, TraceSummary } from "../../../model/trace-types.ts";
import { FALLBACK_RANGE, filtersOf, sortOf, type TraceSearch } from "../model/list-query.ts";
import { mergeRows, orderOf } from "../model/live-rows.ts";

const PAGE = 100;
/** Changes are looked up together, this long after the first, in milliseconds. */
const LOOK_UP_AFTER_MS = 400;
/** Changed traces that wait to be looked up, at most. */
const MAX_WAITING = 1_000;
const FIGURES_EVERY_MS = 5_000;
const BEHIND_MS = 1_000;

export interface Traces {
  readonly rows: readonly TraceSummary[];
  readonly total: number;
  readonly totalIsLowerBound: boolean;
  /** The engine stopped its search before the page was full: there may be more that match, though few or none are here. */
  readonly isCutShort: boolean;
  readonly loaded: boolean;
  readonly error: Error | null;
  readonly retry: () => void;
  readonly loadMore: (() => void) | undefined;
  readonly isLoadingMore: boolean;
  /** Traces that began or changed and are not in `rows` yet. */
  readonly waiting: number;
  /** Brings them in. */
  readonly takeIn: () => void;
}

/** What the address asks for, as a key: another one is another list. */
function keyOf(search: TraceSearch): readonly unknown[] {
  return [filtersOf(search, 0), search.range ?? FALLBACK_RANGE, sortOf(search)];
}

/**
 * The list, kept up to date: the engine tells which traces changed, and is asked which of them match. `isHeld`: what is new waits until it is asked for
 * (paused, or scrolled away from the newest).
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
        { ...filtersOf(search, Date.now()), ...sortOf(search), limit: PAGE, ...(pageParam === null ? {} : { cursor: pageParam }) },
        { signal },
      ),
    getNextPageParam: (last) => last.cursor,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const fetched = useMemo(() => {
    const seen = new Map<string, TraceSummary>();
    for (const page of query.data?.pages ?? []) for (const { trace } of page.spans) if (!seen.has(trace.trace_id)) seen.set(trace.trace_id, trace);
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
    takeIn: overlay.takeIn,
  };
}

interface Overlay {
  readonly asked: ReadonlySet<string>;
  readonly found: ReadonlyMap<string, TraceSummary>;
}
const NOTHING: Overlay = { asked: new Set(), found: new Map() };

/** What changed since the pages were fetched, laid over them. */
function useOverlay(search: TraceSearch, fetched: readonly TraceSummary[], isReady: boolean, isHeld: boolean) {
  const [overlay, setOverlay] = useState<Overlay>(NOTHING);
  const [shown, setShown] = useState<Overlay>(NOTHING);
  const [error, setError] = useState<Error | null>(null);
  const latest = useRef(search);
  latest.current = search;
  const identity = JSON.stringify(keyOf(search));
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list begins without changes
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
          return { asked: new Set([...before.asked, ...ids]), found };
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
    return mergeRows(fetched, shown.asked, [...shown.found.values()], orderOf(sort_by, sort_order));
  }, [fetched, shown]);
  const waiting = overlay === shown ? 0 : [...overlay.found].filter(([id, row]) => shown.found.get(id) !== row).length;
  return { rows: merged.rows, added: merged.added, waiting, error, takeIn: () => setShown(overlay) };
}

/** Calls `lookUp` with the ids of traces that changed, never twice at a time. Returns how to stop. */
export function followChanges(lookUp: (ids: readonly string[], signal: AbortSignal) => Promise<void>): () => void {
  const abort = new AbortController();
  let changed = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isAsking = false;
  const schedule = (): void => {
    if (timer !== undefined || isAsking || changed.size === 0 || abort.signal.aborted) return;
    timer = setTimeout(() => {
      timer = undefined;
      isAsking = true;
      const ids = [...changed];
      changed = new Set();
      void lookUp(ids, abort.signal).finally(() => {
        isAsking = false;
        schedule();
      });
    }, LOOK_UP_AFTER_MS);
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

/** `{traces: [summary, …]}`, with or without its envelope. */
function changedIn(data: unknown): readonly string[] {
  const body = data as { readonly traces?: readonly TraceSummary[]; readonly data?: { readonly traces?: readonly TraceSummary[] } } | null;
  return (body?.traces ?? body?.data?.traces ?? []).map(({ trace_id }) => trace_id);
}

/** Counts over every trace that matches, again each few seconds while the range rolls, and sooner while they are not those of the list's `total`. */
export function useTraceFigures(search: TraceSearch, isPaused: boolean, total: number) {
  const filters = keyOf(search)[0];
  const isRolling = search.to === undefined && !isPaused;
  const options = {
    staleTime: FIGURES_EVERY_MS,
    refetchInterval: isRolling ? FIGURES_EVERY_MS : (false as const),
    placeholderData: keepPreviousData,
  };
  const facets = useQuery({
    queryKey: ["trace-facets", filters, search.range],
    queryFn: ({ signal }) => call<FacetsAnswer>("engine::traces::facets", filtersOf(search, Date.now()), { signal }),
    ...options,
    refetchInterval: ({ state }) => isRolling && (state.data?.total === total ? FIGURES_EVERY_MS : BEHIND_MS),
  });
  const histogram = useQuery({
    queryKey: ["trace-histogram", filters, search.range],
    queryFn: ({ signal }) => {
      const now = Date.now();
      const asked = filtersOf(search, now);
      // A rolling range is drawn whole, to its present end.
      return call<HistogramAnswer>(
        "engine::traces::histogram",
        { ...asked, buckets: 60, ...(rangeMs(search.range ?? FALLBACK_RANGE) === undefined || asked.end_time !== undefined ? {} : { end_time: now }) },
        { signal },
      );
    },
    ...options,
  });
  return { facets, histogram };
}
