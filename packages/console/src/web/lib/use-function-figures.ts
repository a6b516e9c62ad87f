import type { CallFigures } from "@svc-runtime/protocol/listings";
import type { UseQueryResult } from "@tanstack/react-query";
import { usePolledCall } from "./use-polled-call.ts";

export interface FunctionFigures extends CallFigures {
  readonly function_id: string;
}

export interface FunctionFiguresAnswer {
  readonly functions: readonly FunctionFigures[];
  readonly totals: CallFigures;
  readonly window_seconds: number;
}

/** Returns metrics of calls in the last `windowSeconds` seconds. */
export function useFunctionFigures(windowSeconds: number): UseQueryResult<FunctionFiguresAnswer> {
  return usePolledCall("engine::metrics::functions", [windowSeconds], () => ({ window_seconds: windowSeconds }));
}
