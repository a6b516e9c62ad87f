import { useMemo } from "react";
import { useLiveState } from "../../lib/use-live.ts";
import { usePolledCall } from "../../lib/use-polled-call.ts";
import type { FunctionStats } from "./model.ts";

/** Window of the figures. */
const STATS_WINDOW_SECONDS = 900;

export interface StatsByFunction {
  readonly byId: ReadonlyMap<string, FunctionStats>;
  readonly error: Error | null;
  readonly loaded: boolean;
}

/** Returns the figures of the last 15 minutes, for each function that was called. */
export function useFunctionStats(): StatsByFunction {
  const { phase } = useLiveState();
  const { data, error } = usePolledCall<{ readonly functions: readonly FunctionStats[] }>(
    "engine::metrics::functions",
    [STATS_WINDOW_SECONDS],
    () => ({ window_seconds: STATS_WINDOW_SECONDS }),
    { enabled: phase === "live" },
  );
  return useMemo(
    () => ({
      byId: new Map(data?.functions.map((stats) => [stats.function_id, stats])),
      error,
      loaded: data !== undefined,
    }),
    [data, error],
  );
}
