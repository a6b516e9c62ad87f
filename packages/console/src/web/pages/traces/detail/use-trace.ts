import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { useLiveState } from "../../../lib/use-live.ts";
import type { LeanSpan } from "../../../model/trace-types.ts";
import { useNow } from "../../../ui/time.tsx";
import { followChanges } from "../list/use-traces.ts";
import { growForest, type TraceForest } from "../model/span-forest.ts";
import { pagesOf } from "./read-spans.ts";

export interface Trace {
  readonly forest: TraceForest | undefined;
  /** All that there are; in the forest may still be fewer. */
  readonly total: number;
  readonly isComplete: boolean;
  readonly error: Error | null;
  readonly retry: () => void;
  /** For what has not ended: now, on the trace's own axis. */
  readonly nowMs: number;
}

/** A trace that is looked at no more stays in the cache for so long: large ones are megabytes. */
const KEPT_MS = 30_000;

interface Loaded {
  readonly spans: readonly LeanSpan[];
  readonly total: number;
  readonly isComplete: boolean;
}

/** All spans of a trace as far as they are drawn, page by page, and again whenever the engine says that the trace changed. */
export function useTrace(traceId: string): Trace {
  const [begun, setBegun] = useState<Loaded>();
  const query = useQuery({
    queryKey: ["trace", traceId],
    queryFn: async ({ signal }) => {
      let soFar: Loaded = { spans: [], total: 0, isComplete: true };
      for await (const page of pagesOf<LeanSpan>({ traceId, detail: "lean" }, signal)) {
        soFar = { spans: [...soFar.spans, ...page.spans], total: page.total, isComplete: page.cursor === null };
        if (!soFar.isComplete) setBegun(soFar);
      }
      return soFar;
    },
    gcTime: KEPT_MS,
  });
  const { refetch } = query;
  // A trace that is there already is replaced when it is whole, so that nothing goes away meanwhile; who comes back soon has it from the cache.
  const loaded = query.data ?? begun;
  useEffect(
    () =>
      followChanges(async (ids) => {
        if (ids.includes(traceId)) await refetch();
      }),
    [traceId, refetch],
  );
  const forest = useMemo(() => (loaded === undefined ? undefined : growForest(loaded.spans)), [loaded]);
  const nowMs = useTraceNow(forest);
  return {
    forest,
    total: loaded?.total ?? 0,
    isComplete: loaded?.isComplete ?? false,
    error: query.error,
    retry: () => void refetch(),
    nowMs,
  };
}

/** The engine's clock on the axis of the trace; stands still where nothing is running, and while the engine cannot be heard. */
function useTraceNow(forest: TraceForest | undefined): number {
  const { skewMs, phase } = useLiveState();
  const tick = useNow();
  const [heardMs, setHeardMs] = useState(() => Date.now());
  const isRunning = forest?.isPending === true;
  useEffect(() => {
    if (isRunning && phase === "live") setHeardMs(Math.max(tick, Date.now()));
  }, [tick, isRunning, phase]);
  if (forest === undefined) return 0;
  const startMs = Number(forest.startUnixNano / 1_000n) / 1_000;
  return isRunning ? Math.max(forest.lengthMs, heardMs + skewMs - startMs) : forest.lengthMs;
}
