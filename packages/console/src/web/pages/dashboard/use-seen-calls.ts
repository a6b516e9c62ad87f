import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { batchedCall } from "../../lib/batched-call.ts";
import { CALLS_BY_CONSOLES } from "../../lib/calls-by-consoles.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { type FlowSpan, type SeenCall, seenCalls, type TraceRoot, varied } from "../../model/seen-calls.ts";

export interface SeenCalls {
  readonly calls: readonly SeenCall[];
  /** Number of traces that were read. `total` is the number of all traces in the range. */
  readonly read: number;
  readonly total: number;
  /** True if some traces, or some of their spans, were not read. */
  readonly isPart: boolean;
}

const EVERY_MS = 15_000;
const MAX_LISTED = 300;
const MAX_READ = 16;
const MAX_SPANS = 300;

/**
 * Returns calls between functions. They are read from the latest traces of the range. With `failed`, only traces with
 * errors are read, because the latest traces may contain none.
 */
export function useSeenCalls(
  rangeMs: number,
  { failed = false, enabled = true }: { readonly failed?: boolean; readonly enabled?: boolean } = {},
): UseQueryResult<SeenCalls> {
  const { phase } = useLiveState();
  return useQuery({
    queryKey: ["seen calls", rangeMs, failed],
    enabled,
    refetchInterval: phase === "live" ? EVERY_MS : false,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }): Promise<SeenCalls> => {
      const listed = await batchedCall<{ readonly spans: readonly TraceRoot[]; readonly total: number }>(
        "engine::traces::list",
        {
          ...{ limit: MAX_LISTED, start_time: Date.now() - rangeMs, exclude_attributes: CALLS_BY_CONSOLES },
          ...(failed ? { with_errors: true } : {}),
        },
        { signal },
      );
      const ids = varied(listed.spans, MAX_READ);
      const trees = await Promise.all(
        ids.map((trace_id) =>
          batchedCall<{ readonly spans: readonly FlowSpan[]; readonly cursor: string | null }>(
            "engine::traces::spans",
            { trace_id, limit: MAX_SPANS },
            { signal },
          ),
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
