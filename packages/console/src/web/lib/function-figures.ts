import type { UseQueryResult } from "@tanstack/react-query";
import { usePolledCall } from "./use-polled-call.ts";

/** Metrics of a function or of all functions, from `engine::metrics::functions`. */
export interface Figures {
  readonly calls: number;
  readonly errors: number;
  readonly error_rate: number;
  readonly rate_per_second: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  readonly p99_ms: number | null;
}

export interface FunctionFigures extends Figures {
  readonly function_id: string;
}

export interface FunctionFiguresAnswer {
  readonly functions: readonly FunctionFigures[];
  readonly totals: Figures;
  readonly window_seconds: number;
}

/** Returns metrics of calls in the last `windowSeconds` seconds. */
export function useFunctionFigures(windowSeconds: number): UseQueryResult<FunctionFiguresAnswer> {
  return usePolledCall("engine::metrics::functions", [windowSeconds], () => ({ window_seconds: windowSeconds }));
}
