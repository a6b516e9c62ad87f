import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { call } from "../../lib/api.ts";
import { useLiveState } from "../../lib/use-live.ts";
import type { FunctionStats } from "./model.ts";

/** Window of the figures. */
const STATS_WINDOW_SECONDS = 900;
const STATS_EVERY_MS = 5_000;

export interface StatsByFunction {
  readonly byId: ReadonlyMap<string, FunctionStats>;
  readonly error: Error | null;
  readonly loaded: boolean;
}

/** Figures of the last 15 minutes, for every function that was called. */
export function useFunctionStats(): StatsByFunction {
  const { phase } = useLiveState();
  const { data, error } = useQuery({
    queryKey: ["engine::metrics::functions", STATS_WINDOW_SECONDS],
    queryFn: ({ signal }) =>
      call<{ readonly functions: readonly FunctionStats[] }>("engine::metrics::functions", { window_seconds: STATS_WINDOW_SECONDS }, { signal }),
    refetchInterval: STATS_EVERY_MS,
    enabled: phase === "live",
  });
  return useMemo(() => ({ byId: new Map(data?.functions.map((stats) => [stats.function_id, stats])), error, loaded: data !== undefined }), [data, error]);
}
