import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { useLiveState } from "../../../lib/use-live.ts";
import { buildForest, type TraceForest } from "../../../model/span-forest.ts";
import { isOfSeveral, type LeanSpan, type MergedFrom } from "../../../model/trace-types.ts";
import { useNow } from "../../../ui/time.tsx";
import { followChanges } from "../model/follow-changes.ts";
import { countSpans, spanPages } from "./read-spans.ts";

interface Trace {
  readonly forest: TraceForest | undefined;
  /** Number of spans in the engine. While pages are loading, the forest has fewer. */
  readonly total: number;
  readonly isComplete: boolean;
  /** Engines of the cluster that did not answer. */
  readonly missing: readonly string[];
  readonly error: Error | null;
  readonly retry: () => void;
  /** Current time on the axis of the trace. It is the end of spans that have not ended. */
  readonly nowMs: number;
}

/**
 * Time for which a closed trace stays in the cache, in milliseconds. It is short, because large traces take megabytes.
 */
const CACHE_MS = 30_000;
/** Polling interval of a running trace in a cluster, in milliseconds. */
const POLL_MS = 5_000;

interface Loaded {
  readonly spans: readonly LeanSpan[];
  readonly total: number;
  readonly isComplete: boolean;
  readonly from: MergedFrom;
}

/**
 * Loads the lean spans of a trace page by page. Loads them again when the engine reports that the trace has changed.
 */
export function useTrace(traceId: string): Trace {
  const [partial, setPartial] = useState<Loaded>();
  const query = useQuery({
    queryKey: ["trace", traceId],
    queryFn: async ({ signal }) => {
      let soFar: Loaded = { spans: [], total: 0, isComplete: true, from: {} };
      for await (const page of spanPages<LeanSpan>({ traceId, detail: "lean" }, signal)) {
        soFar = {
          spans: [...soFar.spans, ...page.spans],
          total: page.total,
          isComplete: page.cursor === null,
          from: page,
        };
        if (!soFar.isComplete) setPartial(soFar);
      }
      return soFar;
    },
    gcTime: CACHE_MS,
    // It is polled because an engine of a cluster reports only its own changes.
    refetchInterval: ({ state: { data } }) =>
      data !== undefined &&
      isOfSeveral(data.from) &&
      data.spans.some((span) => span.end_time_unix_nano_text === null) &&
      POLL_MS,
  });
  const { refetch } = query;
  // When the trace is loaded again, the spans are replaced only when all are loaded, so that none disappears in
  // between.
  const loaded = query.data ?? partial;
  const forest = useMemo(() => (loaded === undefined ? undefined : buildForest(loaded.spans)), [loaded]);
  const latest = useRef({ total: 0, isPending: true });
  latest.current = { total: loaded?.total ?? 0, isPending: forest?.isPending !== false };
  const isLoaded = query.data !== undefined;
  useEffect(() => {
    if (!isLoaded) return;
    return followChanges(
      async (ids) => {
        if (ids.includes(traceId)) await refetch();
      },
      async (signal) => {
        // A large trace is not fetched again if it has ended and has the same number of spans.
        const { total, isPending } = latest.current;
        if (isPending || (await countSpans(traceId, signal)) !== total) await refetch();
      },
    );
  }, [traceId, isLoaded, refetch]);
  const nowMs = useTraceNow(forest);
  return {
    forest,
    total: loaded?.total ?? 0,
    isComplete: loaded?.isComplete ?? false,
    missing: loaded?.from.missing ?? [],
    error: query.error,
    retry: () => void refetch(),
    nowMs,
  };
}

/**
 * Returns the engine's time on the axis of the trace. It no longer changes when the trace has ended, and while the
 * engine is unreachable.
 */
function useTraceNow(forest: TraceForest | undefined): number {
  const { skewMs, phase } = useLiveState();
  const tick = useNow();
  const [liveMs, setLiveMs] = useState(() => Date.now());
  const isRunning = forest?.isPending === true;
  useEffect(() => {
    if (isRunning && phase === "live") setLiveMs(Math.max(tick, Date.now()));
  }, [tick, isRunning, phase]);
  if (forest === undefined) return 0;
  const startMs = Number(forest.startUnixNano / 1_000n) / 1_000;
  return isRunning ? Math.max(forest.lengthMs, liveMs + skewMs - startMs) : forest.lengthMs;
}
