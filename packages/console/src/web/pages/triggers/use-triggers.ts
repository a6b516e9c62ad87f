import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { call } from "../../lib/api.ts";
import { type LiveCollection, useLiveCollection, useLiveState } from "../../lib/use-live.ts";
import { usePolledCall } from "../../lib/use-polled-call.ts";
import { attributeOf, type TraceListAnswer } from "../../model/trace-types.ts";
import type { TriggerItem } from "../../model/triggers.ts";

/** All triggers, live. */
export function useTriggers(): LiveCollection<TriggerItem> {
  return useLiveCollection<TriggerItem>("svc.triggers", ({ id }) => id);
}

/** A run of a cron trigger. Times are RFC 3339. */
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

interface CronTriggers {
  /** Cron triggers by id. Undefined until they are loaded. */
  readonly byId: ReadonlyMap<string, CronTrigger> | undefined;
  readonly error: Error | null;
}

/** Polls the cron triggers of svc-cron with their next runs, last run and status. */
export function useCronTriggers(isWanted: boolean): CronTriggers {
  // The result is cached unchanged, because the Dashboard uses the same query key.
  const { data, error } = usePolledCall<{ readonly triggers: readonly CronTrigger[] }>("cron::list", [], () => ({}), {
    enabled: isWanted,
  });
  return useMemo(
    () => ({ byId: data && new Map(data.triggers.map((trigger) => [trigger.trigger_id, trigger])), error }),
    [data, error],
  );
}

export function useCronHistory(triggerId: string) {
  const { phase } = useLiveState();
  return useQuery({
    queryKey: ["cron::history", triggerId],
    queryFn: ({ signal }) =>
      call<{ readonly runs: readonly CronRun[] }>("cron::history", { trigger_id: triggerId, limit: 10 }, { signal }),
    refetchInterval: CRON_EVERY_MS,
    enabled: phase === "live",
  });
}

/** Maximum number of traces that are matched with the runs of a cron trigger. */
const MAX_CRON_TRACES = 50;

/** Returns a key that identifies a run, both in the history and in its span. */
export function cronRunKey(scheduledTime: string, isManual: boolean): string {
  return `${Date.parse(scheduledTime)} ${isManual}`;
}

/** Returns the traces of a cron trigger's runs, by `cronRunKey`. A run has no entry if its trace is not stored. */
export function useCronTraces(triggerId: string): ReadonlyMap<string, { traceId: string; spanId: string }> {
  const { data } = usePolledCall<TraceListAnswer>("engine::traces::list", ["cron", triggerId], () => ({
    attributes: [["svc.trigger.id", triggerId]],
    limit: MAX_CRON_TRACES,
  }));
  return useMemo(
    () =>
      new Map(
        data?.spans.flatMap(({ trace_id: traceId, span_id: spanId, attributes }) => {
          const time = attributeOf(attributes, "svc.cron.scheduled_time");
          const isManual = attributeOf(attributes, "svc.cron.manual") === "true";
          return time === undefined ? [] : [[cronRunKey(time, isManual), { traceId, spanId }] as const];
        }),
      ),
    [data],
  );
}

/** The span of a trigger's last run. */
interface TriggerRun {
  readonly trace_id: string;
  readonly span_id: string;
  readonly start_ms: number;
  readonly status: string;
}

export interface LastRuns {
  /** Last runs by trigger id. Undefined until they are loaded. */
  readonly byTrigger: ReadonlyMap<string, TriggerRun> | undefined;
  readonly error: Error | null;
}

const RAN_WITHIN_MS = 3_600_000;
const LAST_RUNS_EVERY_MS = 10_000;
const MAX_TRIGGERS = 1_000;

/**
 * Returns the last run of each trigger, from the traces of the last hour. Queue triggers have none, because jobs do not
 * record their trigger.
 */
export function useLastRuns(): LastRuns {
  const { data, error } = usePolledCall<{
    readonly groups: readonly { readonly value: string; readonly last_span: TriggerRun }[];
  }>(
    "engine::traces::group_by",
    ["last runs"],
    () => ({ attribute: "svc.trigger.id", since_ms: Date.now() - RAN_WITHIN_MS, limit: MAX_TRIGGERS }),
    { everyMs: LAST_RUNS_EVERY_MS },
  );
  return useMemo(
    () => ({
      byTrigger:
        data === undefined ? undefined : new Map(data.groups.map(({ value, last_span }) => [value, last_span])),
      error,
    }),
    [data, error],
  );
}
