import { Link } from "@tanstack/react-router";
import { CircleAlert, CircleCheck, CircleSlash, LoaderCircle } from "lucide-react";
import type { ReactNode } from "react";
import { t } from "../../labels/translate.ts";
import { toSegment } from "../../lib/path-segment.ts";
import { kindOf, type TriggerItem } from "../../model/triggers.ts";
import { cn } from "../../ui/cn.ts";
import { Ago } from "../../ui/time.tsx";
import { publishTargetOf } from "./publish.ts";
import type { CronTrigger, LastRuns } from "./use-triggers.ts";

const ICONS: Readonly<Record<string, typeof CircleCheck>> = {
  error: CircleAlert,
  skipped: CircleSlash,
  running: LoaderCircle,
  pending: LoaderCircle,
};

/**
 * The last run of a trigger, with its outcome. It comes from the history for a cron trigger; for other triggers, from
 * the traces of the last hour.
 */
export function LastRun({
  trigger,
  cron,
  lastRuns: { byTrigger, error },
}: {
  readonly trigger: TriggerItem;
  readonly cron: CronTrigger | undefined;
  readonly lastRuns: LastRuns;
}) {
  const kind = kindOf(trigger.trigger_type);
  if (kind === "cron") {
    const run = cron?.last_run;
    if (run === undefined)
      return (
        <NoRun
          reason={cron === undefined ? undefined : t`It has not run yet`}
          text={cron === undefined ? "–" : t`never`}
        />
      );
    return (
      <Outcome
        outcome={run.outcome ?? "running"}
        ms={Date.parse(run.started_at ?? run.scheduled_time)}
        title={run.error}
      />
    );
  }
  if (kind === "queue") {
    return (
      <Link
        to="/queues/{-$topic}"
        params={{ topic: toSegment(publishTargetOf(trigger).name) }}
        onClick={(event) => event.stopPropagation()}
        className="text-accent hover:underline"
        title={t`Jobs do not record their trigger; see the jobs of its queue`}
      >
        {t`View queue`}
      </Link>
    );
  }
  const run = byTrigger?.get(trigger.id);
  if (run === undefined) {
    return (
      <NoRun
        reason={error === null ? t`Not in the last hour` : t`Unavailable: ${error.message}`}
        text={byTrigger === undefined ? "–" : t`none in 1 h`}
      />
    );
  }
  return (
    <Link
      to="/traces/{-$traceId}/{-$spanId}"
      params={{ traceId: run.trace_id, spanId: run.span_id }}
      search={{ view: "waterfall" }}
      onClick={(event) => event.stopPropagation()}
      className="block w-fit hover:underline"
      title={t`Open trace`}
    >
      <Outcome outcome={run.status} ms={run.start_ms} />
    </Link>
  );
}

function NoRun({ reason, text }: { readonly reason: string | undefined; readonly text: string }): ReactNode {
  return (
    <span className="text-ink-3" title={reason}>
      {text}
    </span>
  );
}

function Outcome({
  outcome,
  ms,
  title,
}: {
  readonly outcome: string;
  readonly ms: number;
  readonly title?: string | undefined;
}) {
  const Icon = ICONS[outcome] ?? CircleCheck;
  return (
    <span className={cn("flex w-fit items-center gap-1", outcome === "error" && "text-danger")} title={title}>
      <Icon aria-label={outcome} className="size-3.5" />
      <Ago ms={ms} />
    </span>
  );
}
