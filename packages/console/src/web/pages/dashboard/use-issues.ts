import type { UseQueryResult } from "@tanstack/react-query";
import type { FunctionFigures, FunctionFiguresAnswer } from "../../lib/function-figures.ts";
import { useWorkers } from "../../lib/use-live.ts";
import { isMissingFunction, usePolledCall } from "../../lib/use-polled-call.ts";
import { useNow } from "../../ui/time.tsx";
import { type AlertState, type CronState, type HealthState, type Issue, issuesOf, type QueueState } from "./issues.ts";

export interface IssueList {
  readonly issues: readonly Issue[];
  /**
   * False until every source has answered or failed. Before that, an empty list does not mean that there are no issues.
   */
  readonly loaded: boolean;
  /** Sources that failed, with their errors. A source whose module is not configured is left out. */
  readonly problems: readonly string[];
}

/** Issues from all sources of the engine. */
export function useIssues(
  figures: UseQueryResult<FunctionFiguresAnswer>,
  ownFigures: readonly FunctionFigures[],
): IssueList {
  const { workers, gone, loaded } = useWorkers();
  const nowMs = useNow();
  const queues = usePolledCall<{ readonly queues: readonly QueueState[] }>("queue::list", [], () => ({}));
  const crons = usePolledCall<{ readonly triggers: readonly CronState[] }>("cron::list", [], () => ({}));
  const alerts = usePolledCall<{ readonly alerts: readonly AlertState[] }>("engine::alerts::list", [], () => ({}));
  const health = usePolledCall<HealthState>("engine::health::check", [], () => ({}));
  const sources = { "function errors": figures, queues, "cron runs": crons, alerts, health };
  return {
    issues: issuesOf({
      ...{ workers, disconnected: gone, nowMs, figures: ownFigures, queues: queues.data?.queues ?? [] },
      ...{ crons: crons.data?.triggers ?? [], alerts: alerts.data?.alerts ?? [], health: health.data },
    }),
    loaded: loaded && Object.values(sources).every(({ isPending }) => !isPending),
    problems: Object.entries(sources).flatMap(([name, { error }]) =>
      error === null || isMissingFunction(error) ? [] : [`${name} (${error.message})`],
    ),
  };
}
