import type { UseQueryResult } from "@tanstack/react-query";
import type { FunctionFigures, FunctionFiguresAnswer } from "../../lib/function-figures.ts";
import { useWorkers } from "../../lib/use-live.ts";
import { isMissingFunction, usePolledCall } from "../../lib/use-polled-call.ts";
import { useNow } from "../../ui/time.tsx";
import { type AlertState, type Concern, type CronState, concernsOf, type HealthState, type QueueState } from "./attention.ts";

export interface Concerns {
  readonly concerns: readonly Concern[];
  /** False until every source has answered or failed: before that, none is not good news. */
  readonly loaded: boolean;
  /** Sources that could not be asked; a module that is not configured is none. */
  readonly problems: readonly string[];
}

/** Everything that needs somebody, of all that the engine can tell. */
export function useConcerns(figures: UseQueryResult<FunctionFiguresAnswer>, ownFigures: readonly FunctionFigures[]): Concerns {
  const { workers, gone, loaded } = useWorkers();
  const nowMs = useNow();
  const queues = usePolledCall<{ readonly queues: readonly QueueState[] }>("queue::list", [], () => ({}));
  const crons = usePolledCall<{ readonly triggers: readonly CronState[] }>("cron::list", [], () => ({}));
  const alerts = usePolledCall<{ readonly alerts: readonly AlertState[] }>("engine::alerts::list", [], () => ({}));
  const health = usePolledCall<HealthState>("engine::health::check", [], () => ({}));
  const sources = { "functions' errors": figures, queues, "cron runs": crons, alerts, health };
  return {
    concerns: concernsOf({
      ...{ workers, gone, nowMs, figures: ownFigures, queues: queues.data?.queues ?? [] },
      ...{ crons: crons.data?.triggers ?? [], alerts: alerts.data?.alerts ?? [], health: health.data },
    }),
    loaded: loaded && Object.values(sources).every(({ isPending }) => !isPending),
    problems: Object.entries(sources).flatMap(([name, { error }]) => (error === null || isMissingFunction(error) ? [] : [`${name} (${error.message})`])),
  };
}
