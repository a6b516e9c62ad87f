import { useMutation, useQueryClient } from "@tanstack/react-query";
import { call } from "../../lib/api.ts";
import { usePolledCall } from "../../lib/use-polled-call.ts";

const EVERY_MS = 10_000;
/** The engine gives no more in one page. */
export const MOST_GROUPS = 1_000;

interface StateGroups {
  readonly items: readonly { readonly scope: string; readonly count: number; readonly bytes: number }[];
  readonly cursor: string | null;
  readonly total: number;
}

interface Queues {
  readonly queues: readonly { readonly queue: string; readonly waiting: number; readonly delayed: number; readonly dead: number; readonly bytes: number }[];
}

export const useStateUsage = () => usePolledCall<StateGroups>("state::groups", ["usage"], () => ({ limit: MOST_GROUPS }), { everyMs: EVERY_MS });
export const useQueueUsage = () => usePolledCall<Queues>("queue::list", ["usage"], () => ({}), { everyMs: EVERY_MS });

/** Deletes all that is kept of a kind; resolves when the engine says that it did. */
export function useClear(functionId: "engine::traces::clear" | "engine::logs::clear") {
  const queries = useQueryClient();
  return useMutation({ mutationFn: () => call(functionId), onSuccess: () => queries.invalidateQueries({ queryKey: ["engine::telemetry::status"] }) });
}
