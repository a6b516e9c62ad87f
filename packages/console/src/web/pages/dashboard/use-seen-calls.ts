import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { call } from "../../lib/api.ts";
import { BY_CONSOLES } from "../../lib/by-consoles.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { type FlowSpan, type SeenCall, seenCalls, type TraceRoot, varied } from "../../model/seen-calls.ts";

export interface SeenCalls {
  readonly calls: readonly SeenCall[];
  /** How many traces were read, and how many there were. */
  readonly read: number;
  readonly total: number;
  /** More was called than was read: calls of other traces, and of the rest of long ones. */
  readonly isPart: boolean;
}

const EVERY_MS = 15_000;
const LISTED = 300;
const READ = 16;
const SPANS = 300;

/** What functions call, as the latest traces of the range show it. */
export function useSeenCalls(rangeMs: number): UseQueryResult<SeenCalls> {
  const { phase } = useLiveState();
  return useQuery({
    queryKey: ["seen calls", rangeMs],
    refetchInterval: phase === "live" ? EVERY_MS : false,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }): Promise<SeenCalls> => {
      const listed = await call<{ readonly spans: readonly TraceRoot[]; readonly total: number }>(
        "engine::traces::list",
        { limit: LISTED, start_time: Date.now() - rangeMs, exclude_attributes: BY_CONSOLES },
        { signal },
      );
      const ids = varied(listed.spans, READ);
      const trees = await Promise.all(
        ids.map((trace_id) =>
          call<{ readonly spans: readonly FlowSpan[]; readonly cursor: string | null }>("engine::traces::spans", { trace_id, limit: SPANS }, { signal }),
        ),
      );
      return {
        calls: seenCalls(trees.flatMap(({ spans }) => spans)),
        read: ids.length,
        total: listed.total,
        isPart: listed.total > ids.length || trees.some(({ cursor }) => cursor !== null),
      };
    },
  });
}
