import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { ApiFailure, call } from "../../../lib/api.ts";
import { useLiveState } from "../../../lib/use-live.ts";
import { useNow } from "../../../ui/time.tsx";
import { followChanges } from "../list/use-traces.ts";
import { growForest, type TraceForest } from "../model/span-forest.ts";
import type { StoredSpan } from "../model/trace-types.ts";

/** Spans of the first answer, so that something is there soon, and of further ones. */
const FIRST_PAGE = 1_000;
const PAGE = 5_000;

interface SpansAnswer {
  readonly spans: readonly StoredSpan[];
  readonly total: number;
  readonly cursor: string | null;
  /** That it was asked with. */
  readonly limit: number;
}

export interface Trace {
  readonly forest: TraceForest | undefined;
  readonly spans: readonly StoredSpan[];
  /** All that there are; `spans` may still be fewer. */
  readonly total: number;
  readonly isComplete: boolean;
  readonly error: Error | null;
  readonly retry: () => void;
  /** For what has not ended: now, on the trace's own axis. */
  readonly nowMs: number;
}

interface Loaded {
  readonly spans: readonly StoredSpan[];
  readonly total: number;
  readonly isComplete: boolean;
}

/** All spans of a trace, page by page, and again whenever the engine says that the trace changed. */
export function useTrace(traceId: string): Trace {
  const [loaded, setLoaded] = useState<Loaded>();
  const query = useQuery({
    queryKey: ["trace", traceId],
    queryFn: async ({ signal }) => {
      const spans: StoredSpan[] = [];
      let cursor: string | null = null;
      let limit = FIRST_PAGE;
      do {
        const page: SpansAnswer = await pageOf(traceId, cursor, limit, signal);
        spans.push(...page.spans);
        cursor = page.cursor;
        // Spans with large attributes come in smaller pages.
        limit = page.limit < limit ? page.limit : PAGE;
        const soFar = { spans: [...spans], total: page.total, isComplete: cursor === null };
        // A trace that is there already is replaced when it is whole, so that nothing goes away meanwhile.
        setLoaded((before) => (before === undefined || !before.isComplete || soFar.isComplete ? soFar : before));
      } while (cursor !== null);
      return spans.length;
    },
  });
  const { refetch } = query;
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
    spans: loaded?.spans ?? [],
    total: loaded?.total ?? 0,
    isComplete: loaded?.isComplete ?? false,
    error: query.error,
    retry: () => void refetch(),
    nowMs,
  };
}

/** A page; where its answer would be larger than the engine sends, a shorter one. */
async function pageOf(traceId: string, cursor: string | null, limit: number, signal: AbortSignal): Promise<SpansAnswer> {
  try {
    const asked = { trace_id: traceId, limit, ...(cursor === null ? {} : { cursor }) };
    return { ...(await call<Omit<SpansAnswer, "limit">>("engine::traces::spans", asked, { signal })), limit };
  } catch (failure) {
    if (limit === 1 || !(failure instanceof ApiFailure) || failure.code !== "payload_too_large") throw failure;
    return pageOf(traceId, cursor, Math.ceil(limit / 8), signal);
  }
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
