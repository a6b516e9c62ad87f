import { useMemo } from "react";
import { usePolledCall } from "../../lib/use-polled-call.ts";
import { type CallLine, type CallSeries, callLine } from "./own-calls.ts";

const LINE_MS = 900_000;
const STEP_S = 15;

/** Returns a range of completed steps only. The current step would show too few calls. */
function completedSteps(): { readonly start_time: number; readonly end_time: number } {
  const end = Math.floor(Date.now() / (STEP_S * 1_000)) * STEP_S * 1_000;
  return { start_time: end - LINE_MS, end_time: end - 1 };
}

/** Calls and errors of workers' functions over the last 15 minutes; undefined while they are loading. */
export function useCallLine(own: ReadonlySet<string>): CallLine | undefined {
  const { data, error } = usePolledCall<{ readonly series: readonly CallSeries[] }>(
    "engine::metrics::series",
    ["calls"],
    () => ({ names: ["svc.calls"], aggregate: "rate", ...completedSteps(), step_seconds: STEP_S }),
    { everyMs: STEP_S * 1_000 },
  );
  return useMemo(
    () => (data === undefined && error === null ? undefined : callLine(data?.series ?? [], own)),
    [data, error, own],
  );
}

/** The p95 of a function over the last 15 minutes; undefined while it is loading. */
export function useP95Line(functionId: string | undefined): readonly (number | null)[] | undefined {
  const { data, isLoading } = usePolledCall<{ readonly series: readonly CallSeries[] }>(
    "engine::metrics::series",
    ["p95", functionId],
    () => ({
      ...{ names: ["svc.call.duration"], labels: { function_id: functionId }, aggregate: "p95" },
      ...{ ...completedSteps(), step_seconds: STEP_S },
    }),
    { everyMs: STEP_S * 1_000, enabled: functionId !== undefined },
  );
  return functionId === undefined || isLoading ? undefined : (data?.series[0]?.points.map(([, value]) => value) ?? []);
}
