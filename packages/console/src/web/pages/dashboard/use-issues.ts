import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { batchedCall } from "../../lib/batched-call.ts";
import type { FunctionFigures, FunctionFiguresAnswer } from "../../lib/use-function-figures.ts";
import { useWorkers } from "../../lib/use-live.ts";
import { isMissingFunction, usePolledCall } from "../../lib/use-polled-call.ts";
import { useNow } from "../../ui/time.tsx";
import { type AlertState, type CronState, type HealthState, type Issue, issuesOf, type QueueState } from "./issues.ts";
import { useSeenCalls } from "./use-seen-calls.ts";

export interface IssueList {
  readonly issues: readonly Issue[];
  /**
   * False until each source has returned data or failed. Until then, an empty list does not mean that there are no
   * issues.
   */
  readonly loaded: boolean;
  /** Sources that failed, with their errors. A source is left out if its module is not configured. */
  readonly problems: readonly string[];
}

/** Maximum number of queues whose latest dead letter is read. */
const MAX_DEAD_QUEUES = 20;

/** Returns the function of each queue's latest dead letter, by queue. Undefined until they are read. */
function useDeadFunctions(queues: readonly QueueState[]): Readonly<Record<string, string>> | undefined {
  const dead = queues.filter(({ dead: count }) => count > 0).slice(0, MAX_DEAD_QUEUES);
  return useQuery({
    queryKey: ["dashboard", "dead", dead.map(({ queue, dead: count }) => [queue, count])],
    enabled: dead.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) =>
      Object.fromEntries(
        await Promise.all(
          dead.map(async ({ queue }) => {
            const { jobs } = await batchedCall<{ readonly jobs: readonly { readonly function_id: string }[] }>(
              "queue::peek",
              { queue, state: "dead", limit: 1 },
              { signal },
            );
            return [queue, jobs[0]?.function_id ?? ""] as const;
          }),
        ),
      ),
  }).data;
}

/** Returns the issues from all sources, for calls of the last `rangeMs` milliseconds. */
export function useIssues(
  figures: UseQueryResult<FunctionFiguresAnswer>,
  ownFigures: readonly FunctionFigures[],
  rangeMs: number,
): IssueList {
  const { workers, gone, loaded } = useWorkers();
  const nowMs = useNow();
  const queues = usePolledCall<{ readonly queues: readonly QueueState[] }>("queue::list", [], () => ({}));
  const deadFunctions = useDeadFunctions(queues.data?.queues ?? []);
  // Calls of failed traces are needed only to join issues with a common cause. With a single failing function, they are
  // not read.
  const failing = ownFigures.filter(({ errors }) => errors > 0).length;
  const seen = useSeenCalls(rangeMs, { failed: true, enabled: failing > 1 });
  const crons = usePolledCall<{ readonly triggers: readonly CronState[] }>("cron::list", [], () => ({}));
  const alerts = usePolledCall<{ readonly alerts: readonly AlertState[] }>("engine::alerts::list", [], () => ({}));
  const health = usePolledCall<HealthState>("engine::health::check", [], () => ({}));
  const sources = { "function errors": figures, queues, "cron runs": crons, alerts, health };
  return {
    issues: issuesOf({
      ...{ workers, disconnected: gone, nowMs, figures: ownFigures, seen: seen.data?.calls ?? [] },
      queues: (queues.data?.queues ?? []).map((each) => ({
        ...each,
        deadFunctionId: deadFunctions?.[each.queue] || undefined,
      })),
      ...{ crons: crons.data?.triggers ?? [], alerts: alerts.data?.alerts ?? [], health: health.data },
    }),
    loaded: loaded && Object.values(sources).every(({ isPending }) => !isPending),
    problems: Object.entries(sources).flatMap(([name, { error }]) =>
      error === null || isMissingFunction(error) ? [] : [`${name} (${error.message})`],
    ),
  };
}
