import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { call } from "../../lib/api.ts";
import { useLiveCollection, useLiveState } from "../../lib/use-live.ts";

interface StreamGroup {
  readonly group_id: string;
  readonly items: number | null;
  readonly subscribers: number;
}
export interface Stream {
  readonly name: string;
  readonly type: "user" | "system";
  readonly groups: readonly StreamGroup[];
  readonly subscribers: number;
}

const REFRESH_MS = 3_000;

/**
 * Polls all streams with their groups every 3 s, because the engine does not send changes of subscriber counts. When
 * `change` changes, polls at once, so that a group that was just joined appears immediately.
 */
export function useCatalogue(change = ""): UseQueryResult<readonly Stream[]> {
  const { phase, generation } = useLiveState();
  return useQuery({
    queryKey: ["streams", generation, change],
    queryFn: async ({ signal }) =>
      (
        await call<{ readonly streams: readonly Stream[] }>(
          "engine::streams::list",
          { include_system: true },
          { signal },
        )
      ).streams,
    refetchInterval: phase === "live" ? REFRESH_MS : false,
    placeholderData: (before) => before,
  });
}

/** Returns true if svc-stream runs. Returns undefined while the workers are loading. */
export function useHasStreamModule(): boolean | undefined {
  const workers = useLiveCollection<{ readonly id: string; readonly name: string }>("svc.workers", ({ id }) => id);
  return workers.loaded ? workers.items.some(({ name }) => name === "svc-stream") : undefined;
}
