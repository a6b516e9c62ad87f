import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { ApiFailure } from "./api.ts";
import { batchedCall } from "./batched-call.ts";
import { useLiveState } from "./use-live.ts";

/** Interval of polls of metrics that have no stream, in milliseconds. It is the engine's sample interval. */
export const POLL_MS = 5_000;

/**
 * Calls a function of the engine repeatedly while the page is live and visible, and returns the last result. `key`
 * identifies the call. `payload` is called for each call, because most payloads contain the current time. Polling stops
 * if the caller may not call the function.
 */
export function usePolledCall<Result>(
  functionId: string,
  key: readonly unknown[],
  payload: () => unknown,
  { everyMs = POLL_MS, enabled = true }: { readonly everyMs?: number | false; readonly enabled?: boolean } = {},
): UseQueryResult<Result> {
  const { phase } = useLiveState();
  return useQuery({
    queryKey: [functionId, ...key],
    queryFn: ({ signal }) => batchedCall<Result>(functionId, payload(), { signal }),
    enabled,
    refetchInterval: ({ state: { error } }) => phase === "live" && untilNextCall(error, everyMs),
    placeholderData: keepPreviousData,
  });
}

/** Returns true if the error means that the function's module is not configured. */
export function isMissingFunction(error: Error | null): boolean {
  return error instanceof ApiFailure && /^function_not_found$/i.test(error.code);
}

/**
 * Returns the time until the next call in milliseconds; false if there is none. A call that was rejected for lack of
 * rights is not repeated.
 */
export function untilNextCall(error: Error | null, everyMs: number | false): number | false {
  const isRefused = error instanceof ApiFailure && /^forbidden$/i.test(error.code);
  return isRefused ? false : everyMs;
}
