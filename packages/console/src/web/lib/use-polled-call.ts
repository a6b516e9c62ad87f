import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { ApiFailure, call } from "./api.ts";
import { useLiveState } from "./use-live.ts";

/** How often figures are asked for that no stream tells, in milliseconds. As often as the engine takes samples. */
export const POLL_MS = 5_000;

/**
 * Calls a function of the engine again and again while the page is live and looked at; the last answer stays. `key` tells calls apart; `payload` is made
 * anew for each, since most of them name a time.
 */
export function usePolledCall<Result>(
  functionId: string,
  key: readonly unknown[],
  payload: () => unknown,
  { everyMs = POLL_MS, enabled = true }: { readonly everyMs?: number; readonly enabled?: boolean } = {},
): UseQueryResult<Result> {
  const { phase } = useLiveState();
  return useQuery({
    queryKey: [functionId, ...key],
    queryFn: ({ signal }) => call<Result>(functionId, payload(), { signal }),
    enabled,
    refetchInterval: phase === "live" ? everyMs : false,
    placeholderData: keepPreviousData,
  });
}

/** The module that provides the function is not in the engine's config. */
export function isMissingFunction(error: Error | null): boolean {
  return error instanceof ApiFailure && /^function_not_found$/i.test(error.code);
}
