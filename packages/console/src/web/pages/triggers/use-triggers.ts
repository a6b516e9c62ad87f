import { useQuery } from "@tanstack/react-query";
import { call } from "../../lib/api.ts";
import { type LiveCollection, useLiveCollection, useLiveState } from "../../lib/use-live.ts";
import type { TriggerItem } from "./model.ts";

/** Every trigger, as they come, go and change. */
export function useTriggers(): LiveCollection<TriggerItem> {
  return useLiveCollection<TriggerItem>("svc.triggers", ({ id }) => id);
}

/** A run of a cron trigger; times are RFC 3339. */
export interface CronRun {
  readonly scheduled_time: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly outcome: "ok" | "error" | "skipped" | "enqueued" | null;
  readonly error?: string;
  readonly manual?: boolean;
  readonly passed_over?: number;
}

export interface CronTrigger {
  readonly trigger_id: string;
  readonly function_id: string;
  readonly expression: string;
  readonly timezone: string;
  readonly status: "active" | "paused" | "inactive" | "error";
  readonly reason?: string;
  readonly next_runs: readonly string[];
  readonly last_run?: CronRun;
  readonly overlap: string;
  readonly misfire: string;
  readonly queue: string | null;
}

const CRON_EVERY_MS = 5_000;

/** What svc-cron knows of its triggers: next runs, last run, whether they are paused. */
export function useCronTriggers(isWanted: boolean) {
  const { phase } = useLiveState();
  return useQuery({
    queryKey: ["cron::list"],
    queryFn: async ({ signal }) => {
      const { triggers } = await call<{ readonly triggers: readonly CronTrigger[] }>("cron::list", {}, { signal });
      return new Map(triggers.map((trigger) => [trigger.trigger_id, trigger]));
    },
    refetchInterval: CRON_EVERY_MS,
    enabled: isWanted && phase === "live",
  });
}

export function useCronHistory(triggerId: string) {
  const { phase } = useLiveState();
  return useQuery({
    queryKey: ["cron::history", triggerId],
    queryFn: ({ signal }) => call<{ readonly runs: readonly CronRun[] }>("cron::history", { trigger_id: triggerId, limit: 10 }, { signal }),
    refetchInterval: CRON_EVERY_MS,
    enabled: phase === "live",
  });
}
