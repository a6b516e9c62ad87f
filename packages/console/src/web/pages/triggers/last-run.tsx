import { Link } from "@tanstack/react-router";
import { CircleAlert, CircleCheck, CircleSlash, LoaderCircle } from "lucide-react";
import type { ReactNode } from "react";
import { toSegment } from "../../lib/segment.ts";
import { kindOf, type TriggerItem } from "../../model/triggers.ts";
import { cn } from "../../ui/cn.ts";
import { Ago } from "../../ui/time.tsx";
import { publishingOf } from "./publish.ts";
import type { CronTrigger, LastFirings } from "./use-triggers.ts";

const ICONS: Readonly<Record<string, typeof CircleCheck>> = { error: CircleAlert, skipped: CircleSlash, running: LoaderCircle, pending: LoaderCircle };

/** When the trigger ran last, and how that went: of a schedule by its history, of others by the traces of the last hour. */
export function LastRun({
  trigger,
  cron,
  firings: { byTrigger, error },
}: {
  readonly trigger: TriggerItem;
  readonly cron: CronTrigger | undefined;
  readonly firings: LastFirings;
}) {
  const kind = kindOf(trigger.trigger_type);
  if (kind === "cron") {
    const run = cron?.last_run;
    if (run === undefined) return <None why={cron === undefined ? undefined : "It has not run yet"} text={cron === undefined ? "–" : "never"} />;
    return <Outcome outcome={run.outcome ?? "running"} ms={Date.parse(run.started_at ?? run.scheduled_time)} title={run.error} />;
  }
  if (kind === "queue") {
    return (
      <Link
        to="/queues/{-$topic}"
        params={{ topic: toSegment(publishingOf(trigger).target) }}
        onClick={(event) => event.stopPropagation()}
        className="text-accent hover:underline"
        title="A job does not tell which trigger it is for; the queue tells of its jobs"
      >
        see its queue
      </Link>
    );
  }
  const firing = byTrigger?.get(trigger.id);
  if (firing === undefined) {
    return <None why={error === null ? "Not in the last hour" : `Not known: ${error.message}`} text={byTrigger === undefined ? "–" : "none in 1 h"} />;
  }
  return (
    <Link
      to="/traces/{-$traceId}/{-$spanId}"
      params={{ traceId: firing.trace_id, spanId: firing.span_id }}
      search={{ view: "waterfall" }}
      onClick={(event) => event.stopPropagation()}
      className="block w-fit hover:underline"
      title="To its trace"
    >
      <Outcome outcome={firing.status} ms={firing.start_ms} />
    </Link>
  );
}

function None({ why, text }: { readonly why: string | undefined; readonly text: string }): ReactNode {
  return (
    <span className="text-ink-3" title={why}>
      {text}
    </span>
  );
}

function Outcome({ outcome, ms, title }: { readonly outcome: string; readonly ms: number; readonly title?: string | undefined }) {
  const Icon = ICONS[outcome] ?? CircleCheck;
  return (
    <span className={cn("flex w-fit items-center gap-1", outcome === "error" && "text-danger")} title={title}>
      <Icon aria-label={outcome} className="size-3.5" />
      <Ago ms={ms} />
    </span>
  );
}
