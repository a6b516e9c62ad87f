import { useMemo } from "react";
import { usePolledCall } from "./use-polled-call.ts";

// Calls over time, for sparklines.

const LINE_MS = 900_000;
const STEP_S = 15;

interface CallSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [number, number | null])[];
}

export interface CallLine {
  /** Calls per minute, by step. Null for steps without data of the engine. */
  readonly calls: readonly (number | null)[];
  /** Percentage of failed calls, by step. Null for steps without data of the engine. */
  readonly errors: readonly (number | null)[];
}

interface SeriesAnswer {
  readonly series: readonly CallSeries[];
}

/**
 * Returns a range that ends with the last completed step. The current step is left out, because it would show too few
 * calls.
 */
function completedSteps() {
  const end = Math.floor(Date.now() / (STEP_S * 1_000)) * STEP_S * 1_000;
  return { start_time: end - LINE_MS, end_time: end - 1, step_seconds: STEP_S };
}

/**
 * Returns calls and errors of these functions in the last 15 minutes; undefined while they are loading. `labels` limits
 * the series that are read.
 */
export function useCallLine(
  functions: ReadonlySet<string>,
  labels: Readonly<Record<string, string>> = {},
): CallLine | undefined {
  const { data, error } = usePolledCall<SeriesAnswer>(
    "engine::metrics::series",
    ["calls", labels],
    () => ({ names: ["svc.calls"], labels, aggregate: "rate", ...completedSteps() }),
    { everyMs: STEP_S * 1_000 },
  );
  return useMemo(
    () => (data === undefined && error === null ? undefined : callLine(data?.series ?? [], functions)),
    [data, error, functions],
  );
}

/** Returns a percentile of a function's durations in the last 15 minutes; undefined while it is loading. */
export function useDurationLine(
  functionId: string | undefined,
  percentile: "p50" | "p95",
): readonly (number | null)[] | undefined {
  const { data, isLoading } = usePolledCall<SeriesAnswer>(
    "engine::metrics::series",
    [percentile, functionId],
    () => ({
      ...{ names: ["svc.call.duration"], labels: { function_id: functionId }, aggregate: percentile },
      ...completedSteps(),
    }),
    { everyMs: STEP_S * 1_000, enabled: functionId !== undefined },
  );
  if (functionId === undefined || isLoading) return undefined;
  return data?.series[0]?.points.map(([, value]) => value) ?? [];
}

/**
 * Returns the calls per minute and the percentage of failed calls over time. Values are null where the engine has no
 * data.
 */
export function callLine(series: readonly CallSeries[], functions: ReadonlySet<string>): CallLine {
  const known = new Set<number>();
  const sums = new Map<number, { calls: number; errors: number }>();
  for (const { labels, points } of series) {
    for (const [ms, value] of points) {
      const sum = sums.get(ms) ?? { calls: 0, errors: 0 };
      sums.set(ms, sum);
      if (value === null) continue;
      // A value of any function shows that the engine was running, so other functions have 0 there instead of null.
      known.add(ms);
      if (!functions.has(labels.function_id ?? "")) continue;
      sum.calls += value * 60;
      if (labels.outcome !== "ok") sum.errors += value * 60;
    }
  }
  const inOrder = [...sums].sort(([a], [b]) => a - b);
  return {
    calls: inOrder.map(([ms, { calls }]) => (known.has(ms) ? calls : null)),
    errors: inOrder.map(([ms, { calls, errors }]) => (known.has(ms) && calls > 0 ? (errors / calls) * 100 : null)),
  };
}
