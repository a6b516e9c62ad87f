import type { ListedJobState } from "@svc-runtime/protocol/listings";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLiveState } from "../../lib/use-live.ts";
import { fetchJob, fetchJobs, fetchOverview, fetchTopicDepth } from "./queue-api.ts";

/** Polling interval, in milliseconds. The page polls, because the engine has no stream of queues. */
const EVERY_MS = 2_000;
/** Polling interval after a large result, in milliseconds. */
const LARGE_EVERY_MS = 15_000;
/** Results with more characters than this are large. */
const LARGE_CHARACTERS = 512 * 1024;

/** Returns a function that returns the polling interval. Its argument is the size of the last result, in characters. */
function usePollInterval(): (size?: number) => number | false {
  const isLive = useLiveState().phase === "live";
  return (size = 0) => isLive && (size > LARGE_CHARACTERS ? LARGE_EVERY_MS : EVERY_MS);
}

export function useOverview() {
  const intervalFor = usePollInterval();
  return useQuery({
    queryKey: ["queues"],
    queryFn: ({ signal }) => fetchOverview(signal),
    refetchInterval: intervalFor(),
    refetchOnWindowFocus: "always",
  });
}

export function useJobs(queue: string, state: ListedJobState) {
  const intervalFor = usePollInterval();
  return useInfiniteQuery({
    queryKey: ["queue-jobs", queue, state],
    queryFn: ({ pageParam, signal }) => fetchJobs(queue, state, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ cursor }) => cursor,
    refetchInterval: ({ state: { data } }) => intervalFor(data?.pages.reduce((sum, { size }) => sum + size, 0)),
    refetchOnWindowFocus: "always",
  });
}

export function useJob(jobId: string) {
  const intervalFor = usePollInterval();
  return useQuery({
    queryKey: ["queue-job", jobId],
    queryFn: ({ signal }) => fetchJob(jobId, signal),
    refetchInterval: ({ state: { data, error } }) =>
      error === null ? intervalFor(data !== undefined && "json" in data ? data.json.length : 0) : false,
    refetchOnWindowFocus: "always",
  });
}

export function useTopicDepth(topic: string) {
  const intervalFor = usePollInterval();
  return useQuery({
    queryKey: ["queue-topic", topic],
    queryFn: ({ signal }) => fetchTopicDepth(topic, signal),
    refetchInterval: intervalFor(),
  });
}

export interface Action {
  readonly isPending: boolean;
  readonly problem: string | undefined;
  /** Runs `action`. Then loads the data of the page again. Resolves to true if the action succeeded. */
  run(action: () => Promise<unknown>): Promise<boolean>;
  clear(): void;
}

/**
 * Returns the state of a change. The change is pending until the page shows its result. `problem` is the error of the
 * last change.
 */
export function useAction(): Action {
  const client = useQueryClient();
  const [isPending, setPending] = useState(false);
  const [problem, setProblem] = useState<string | undefined>();
  return {
    isPending,
    problem,
    clear: () => setProblem(undefined),
    async run(action) {
      setPending(true);
      setProblem(undefined);
      try {
        await action();
        return true;
      } catch (thrown) {
        setProblem((thrown as Error).message);
        return false;
      } finally {
        await Promise.all(
          ["queues", "queue-jobs", "queue-topic"].map((first) => client.invalidateQueries({ queryKey: [first] })),
        );
        setPending(false);
      }
    },
  };
}
