import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLiveState } from "../../lib/use-live.ts";
import type { JobState } from "./model.ts";
import { fetchJob, fetchJobs, fetchOverview, fetchTopicDepth } from "./queue-api.ts";

/** Queues have no stream: while the page is seen, what it shows is asked for again this often, in milliseconds; large answers more seldom. */
const EVERY_MS = 2_000;
const SELDOM_MS = 15_000;
const LARGE = 512 * 1024;

function usePace(): (size?: number) => number | false {
  const isLive = useLiveState().phase === "live";
  return (size = 0) => isLive && (size > LARGE ? SELDOM_MS : EVERY_MS);
}

export function useOverview() {
  const pace = usePace();
  return useQuery({ queryKey: ["queues"], queryFn: ({ signal }) => fetchOverview(signal), refetchInterval: pace(), refetchOnWindowFocus: "always" });
}

export function useJobs(queue: string, state: JobState) {
  const pace = usePace();
  return useInfiniteQuery({
    queryKey: ["queue-jobs", queue, state],
    queryFn: ({ pageParam, signal }) => fetchJobs(queue, state, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ cursor }) => cursor,
    refetchInterval: ({ state: { data } }) => pace(data?.pages.reduce((sum, { size }) => sum + size, 0)),
    refetchOnWindowFocus: "always",
  });
}

export function useJob(jobId: string) {
  const pace = usePace();
  return useQuery({
    queryKey: ["queue-job", jobId],
    queryFn: ({ signal }) => fetchJob(jobId, signal),
    refetchInterval: ({ state: { data, error } }) => (error === null ? pace(data !== undefined && "json" in data ? data.json.length : 0) : false),
    refetchOnWindowFocus: "always",
  });
}

export function useTopicDepth(topic: string) {
  const pace = usePace();
  return useQuery({ queryKey: ["queue-topic", topic], queryFn: ({ signal }) => fetchTopicDepth(topic, signal), refetchInterval: pace() });
}

export interface Action {
  readonly isPending: boolean;
  readonly problem: string | undefined;
  /** Runs it, then asks again for what the page shows; true when it went well. */
  run(action: () => Promise<unknown>): Promise<boolean>;
  clear(): void;
}

/** A change: pending until what came of it is on the screen, its failure kept to be told where it was asked for. */
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
        await Promise.all(["queues", "queue-jobs", "queue-topic"].map((first) => client.invalidateQueries({ queryKey: [first] })));
        setPending(false);
      }
    },
  };
}
