import { useMutation, useQueryClient } from "@tanstack/react-query";
import { call } from "../../lib/api.ts";
import { usePolledCall } from "../../lib/use-polled-call.ts";
import type { QueueStats } from "../../model/queues.ts";
import type { GroupPage } from "../../model/state.ts";
import { MOST_GROUPS } from "./storage-text.ts";

const EVERY_MS = 10_000;

interface Queues {
  readonly queues: readonly QueueStats[];
}

export const useStateUsage = () => usePolledCall<GroupPage>("state::groups", ["usage"], () => ({ limit: MOST_GROUPS }), { everyMs: EVERY_MS });
export const useQueueUsage = () => usePolledCall<Queues>("queue::list", ["usage"], () => ({}), { everyMs: EVERY_MS });

/** Deletes all that is kept of a kind; resolves when the engine says that it did. */
export function useClear(functionId: "engine::traces::clear" | "engine::logs::clear") {
  const queries = useQueryClient();
  return useMutation({ mutationFn: () => call(functionId), onSuccess: () => queries.invalidateQueries({ queryKey: ["engine::telemetry::status"] }) });
}
