import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { call } from "../../lib/api.ts";
import { useCronText } from "../../lib/cron-text.ts";
import { dateTime, useZone } from "../../lib/time.ts";
import { useLiveState } from "../../lib/use-live.ts";
import type { TriggerItem } from "../../model/triggers.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { DataRegion } from "../../ui/data-region.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { Ago, Duration, Timestamp } from "../../ui/time.tsx";
import { configText } from "./model.ts";
import { type CronRun, type CronTrigger, cronRunKey, useCronHistory, useCronTraces } from "./use-triggers.ts";

/** Timeout of a manual run, in milliseconds. It is long, because a run takes as long as its function. */
const RUN_TIMEOUT_MS = 600_000;
/** If the last run was less than this time ago (in milliseconds), a manual run asks for confirmation. */
const CONFIRM_WITHIN_MS = 60_000;

/** A cron trigger: its schedule in words, next runs, last runs, and a button that runs it now. */
export default function CronPanel({
  trigger,
  cron,
  error,
}: {
  readonly trigger: TriggerItem;
  readonly cron: CronTrigger | undefined;
  readonly error: Error | null;
}) {
  const expression = configText(trigger, "expression") ?? "";
  const zone = cron?.timezone ?? configText(trigger, "timezone") ?? "UTC";
  const text = useCronText(expression);
  return (
    <>
      <section>
        <h3 className="pb-1 font-medium">{t`Schedule`}</h3>
        <p>
          <code className="rounded bg-raised px-2 py-1 text-[14px]">{expression}</code>
        </p>
        <p className="pt-2">
          {text ?? t`The expression`} <span className="text-ink-2">{t`in the time zone ${zone}`}</span>
        </p>
        <p className="text-[12px] text-ink-3">{fieldNames(expression)}</p>
      </section>
      {error !== null && (
        <p role="alert" className="text-danger">
          {t`Failed to load the next runs: ${error.message}`}
        </p>
      )}
      {cron !== undefined && <NextRuns cron={cron} />}
      <RunNow trigger={trigger} cron={cron} />
      <History triggerId={trigger.id} functionId={trigger.function_id} />
    </>
  );
}

function fieldNames(expression: string): string {
  const count = expression.trim().split(/\s+/).length;
  if (count === 5) return t`Five fields: minute, hour, day of month, month, weekday`;
  if (count === 6) return t`Six fields: second, minute, hour, day of month, month, weekday`;
  return count === 7 ? t`Seven fields: second, minute, hour, day of month, month, weekday, year` : "";
}

function NextRuns({ cron }: { readonly cron: CronTrigger }) {
  const zone = useZone();
  if (cron.next_runs.length === 0) {
    return (
      <p className="text-ink-2">
        {cron.status === "paused"
          ? t`Paused: no runs start until the schedule is resumed.`
          : (cron.reason ?? t`No further runs are scheduled.`)}
      </p>
    );
  }
  return (
    <section>
      <h3 className="pb-1 font-medium">{t`Next runs`}</h3>
      <ol className="flex flex-col gap-0.5 tabular-nums">
        {cron.next_runs.map((at) => (
          <li key={at} className="flex flex-wrap gap-x-3">
            <Timestamp ms={Date.parse(at)} as="date" />
            {dateTime(Date.parse(at), zone) !== dateTime(Date.parse(at), "UTC") && (
              <span className="text-ink-3">{t`${dateTime(Date.parse(at), "UTC")} UTC`}</span>
            )}
            <span className="text-ink-2">
              <Ago ms={Date.parse(at)} />
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function RunNow({ trigger, cron }: { readonly trigger: TriggerItem; readonly cron: CronTrigger | undefined }) {
  const { phase } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const refresh = (): void => {
    void queries.invalidateQueries({ queryKey: ["cron::history", trigger.id] });
    void queries.invalidateQueries({ queryKey: ["cron::list"] });
  };
  const run = useMutation({
    mutationFn: () =>
      call<CronRun & { readonly result?: unknown }>(
        "cron::trigger_now",
        { trigger_id: trigger.id },
        { timeoutMs: RUN_TIMEOUT_MS },
      ),
    onSettled: refresh,
  });
  const pause = useMutation({
    mutationFn: (isPaused: boolean) => call(isPaused ? "cron::resume" : "cron::pause", { trigger_id: trigger.id }),
    onSettled: refresh,
  });
  const lastMs = cron?.last_run?.started_at == null ? undefined : Date.parse(cron.last_run.started_at);
  const isPaused = cron?.status === "paused";
  const failure = run.error ?? pause.error;
  return (
    <section>
      <h3 className="pb-1 font-medium">{t`Run now`}</h3>
      <div className="flex flex-wrap gap-2">
        <Button
          look="primary"
          disabledReason={
            refusal ?? (trigger.status === "active" ? undefined : (trigger.reason ?? t`The trigger is not active`))
          }
          isPending={run.isPending}
          onClick={() =>
            lastMs !== undefined && Date.now() - lastMs < CONFIRM_WITHIN_MS ? setAsking(true) : run.mutate()
          }
        >
          {t`Trigger Now`}
        </Button>
        {cron !== undefined && (
          <Button disabledReason={refusal} isPending={pause.isPending} onClick={() => pause.mutate(isPaused)}>
            {isPaused ? t`Resume the schedule` : t`Pause the schedule`}
          </Button>
        )}
      </div>
      <p className="pt-1 text-[12px] text-ink-2">
        {rich`${<code>{trigger.function_id}</code>} receives ${<code>{'{"trigger": "cron", "job_id": …, "scheduled_time": …, "actual_time": …}'}</code>}`}
        {cron?.queue != null && <>{rich` as a job on the queue ${<code>{cron.queue}</code>}`}</>}
      </p>
      {run.isPending && <p role="status">{t`Running; the result appears when the run ends.`}</p>}
      {run.data !== undefined && !run.isPending && (
        <p role="status" className="pt-1">
          {rich`The run ended: ${<Outcome run={run.data} />} ${run.data.error}`}
        </p>
      )}
      {failure !== null && (
        <p role="alert" className="mt-1 rounded-md bg-danger-soft px-3 py-1.5 text-danger">
          {failure.message}
        </p>
      )}
      <ConfirmDialog
        open={isAsking}
        onClose={() => setAsking(false)}
        title={t`Run it again?`}
        description={rich`It ran ${lastMs === undefined ? t`just now` : <Ago ms={lastMs} />}. This calls ${<code>{trigger.function_id}</code>} again.`}
        action={t`Trigger Now`}
        refusal={refusal}
        onConfirm={() => {
          setAsking(false);
          run.mutate();
        }}
      />
    </section>
  );
}

const OUTCOMES: Readonly<
  Record<"running" | NonNullable<CronRun["outcome"]>, { readonly label: string; readonly tone: Tone }>
> = {
  running: { label: t`Running`, tone: "info" },
  ok: { label: t`OK`, tone: "ok" },
  error: { label: t`Error`, tone: "danger" },
  skipped: { label: t`Skipped`, tone: "neutral" },
  enqueued: { label: t`Enqueued`, tone: "info" },
};

function Outcome({ run }: { readonly run: CronRun }) {
  const { label, tone } = OUTCOMES[run.outcome ?? "running"];
  return <Badge tone={tone}>{label}</Badge>;
}

function RunTrace({ trace }: { readonly trace: { readonly traceId: string; readonly spanId: string } | undefined }) {
  if (trace === undefined) return null;
  return (
    <Link
      to="/traces/{-$traceId}/{-$spanId}"
      params={trace}
      search={{ view: "waterfall" }}
      className="text-accent underline"
    >
      {t`Trace`}
    </Link>
  );
}

function History({ triggerId, functionId }: { readonly triggerId: string; readonly functionId: string }) {
  const history = useCronHistory(triggerId);
  const traces = useCronTraces(triggerId);
  const runs = history.data?.runs ?? [];
  return (
    <section>
      <div className="flex items-center gap-3 pb-1">
        <h3 className="flex-1 font-medium">{t`Last runs`}</h3>
        <Link
          to="/functions/{-$functionId}"
          params={{ functionId }}
          search={{ tab: "history", source: "cron" }}
          className="text-accent underline"
        >
          {t`Calls with their traces`}
        </Link>
      </div>
      <DataRegion
        loading={history.data === undefined}
        error={history.error}
        retry={() => void history.refetch()}
        empty={runs.length === 0}
        emptyState={<p className="text-ink-2">{t`It has not run yet.`}</p>}
      >
        <ol className="flex flex-col gap-1">
          {runs.map((run) => (
            <li
              key={`${run.scheduled_time} ${run.started_at}`}
              className="flex flex-wrap items-center gap-x-3 gap-y-0.5 border-line/60 border-b pb-1"
            >
              <Outcome run={run} />
              <Timestamp ms={Date.parse(run.started_at ?? run.scheduled_time)} as="date" className="tabular-nums" />
              {run.started_at !== null && run.finished_at !== null && (
                <Duration ms={Date.parse(run.finished_at) - Date.parse(run.started_at)} className="text-ink-2" />
              )}
              {run.manual === true && <Badge>{t`Manual`}</Badge>}
              <RunTrace trace={traces.get(cronRunKey(run.scheduled_time, run.manual === true))} />
              {run.passed_over !== undefined && (
                <span className="text-ink-2">{t`${run.passed_over} ticks skipped`}</span>
              )}
              {run.error !== undefined && <span className="w-full break-words text-danger">{run.error}</span>}
            </li>
          ))}
        </ol>
      </DataRegion>
    </section>
  );
}
