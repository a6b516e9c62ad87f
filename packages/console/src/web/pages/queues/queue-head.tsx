import type { QueueStats } from "@svc-runtime/protocol/listings";
import { Link } from "@tanstack/react-router";
import { Pause, Play, Trash2 } from "lucide-react";
import { useState } from "react";
import { useWriteRefusal } from "../../app/use-hello.tsx";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { toSegment } from "../../lib/path-segment.ts";
import { bytes } from "../../lib/time.ts";
import { useLiveState } from "../../lib/use-live.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toasts.tsx";
import { functionOfSubscription, idOfTopic } from "./model.ts";
import { purge, setPaused } from "./queue-api.ts";
import { useAction } from "./use-queues.ts";

const COUNTERS = [
  { name: "added", label: t`Added` },
  { name: "done", label: t`Done` },
  { name: "died", label: t`Dead-lettered` },
  { name: "expired", label: t`Expired` },
  { name: "cancelled", label: t`Cancelled` },
] as const;

/** State and counters of a queue, with buttons that pause, resume and purge it. */
export function QueueHead({ stats }: { readonly stats: QueueStats }) {
  const refusal = useWriteRefusal(useLiveState().phase);
  const action = useAction();
  const [isPurging, setPurging] = useState(false);
  const { queue, paused, topic } = stats;
  const purgeable = stats.waiting + stats.delayed;
  const topicLink = topic !== null && (
    <Link to="/queues/{-$topic}" params={{ topic: toSegment(idOfTopic(topic)) }} className="text-accent underline">
      {topic}
    </Link>
  );
  const functionLink = (
    <Link
      to="/functions/{-$functionId}"
      params={{ functionId: functionOfSubscription(queue) }}
      className="text-accent underline"
    >
      {functionOfSubscription(queue)}
    </Link>
  );
  return (
    <div className="flex flex-col gap-1.5 border-line border-b px-3 py-2 text-[12px] text-ink-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        {paused ? (
          <Badge tone="warn" icon={<Pause aria-hidden className="size-3" />}>
            {t`Paused`}
          </Badge>
        ) : (
          <Badge tone="ok" icon={<Play aria-hidden className="size-3" />}>
            {t`Running`}
          </Badge>
        )}
        <span>{stats.type ?? t`not in the config`}</span>
        {stats.concurrency !== null && <span>{t`concurrency ${stats.concurrency}`}</span>}
        <span>{t`${bytes(stats.bytes)} stored`}</span>
        <span className="ml-auto flex gap-1">
          <Button
            icon={paused ? <Play aria-hidden className="size-3.5" /> : <Pause aria-hidden className="size-3.5" />}
            disabledReason={refusal}
            isPending={action.isPending && !isPurging}
            onClick={() => void action.run(() => setPaused(queue, !paused))}
          >
            {paused ? t`Resume` : t`Pause`}
          </Button>
          <Button
            icon={<Trash2 aria-hidden className="size-3.5" />}
            disabledReason={refusal}
            disabled={purgeable === 0}
            onClick={() => setPurging(true)}
          >
            {t`Purge`}
          </Button>
        </span>
      </div>
      {topic !== null && <p>{rich`Messages of the topic ${topicLink} for ${functionLink}`}</p>}
      <dl className="flex flex-wrap gap-x-3">
        {COUNTERS.map(({ name, label }) => (
          <div key={name} className="flex gap-1">
            <dt>{label}</dt>
            <dd className="font-mono text-ink tabular-nums">{stats[name].toLocaleString("en-GB")}</dd>
          </div>
        ))}
        <div className="text-ink-3">
          <dt className="sr-only">{t`Since`}</dt>
          <dd>{t`since the queue was first used`}</dd>
        </div>
      </dl>
      {stats.waiting_reasons?.map((reason) => (
        <p key={reason} className="text-warn">
          {t`Jobs wait: ${reason}`}
        </p>
      ))}
      {action.problem !== undefined && !isPurging && (
        <p role="alert" className="text-danger">
          {action.problem}
        </p>
      )}
      {isPurging && (
        <ConfirmDialog
          open
          onClose={() => {
            setPurging(false);
            action.clear();
          }}
          title={t`Purge this queue?`}
          description={t`This permanently deletes ${purgeable} waiting and delayed jobs. Jobs in flight and dead letters stay.`}
          action={t`Purge`}
          typeToConfirm={queue}
          isPending={action.isPending}
          refusal={refusal}
          onConfirm={() =>
            void action
              .run(() => purge(queue))
              .then((isDone) => {
                if (!isDone) return;
                setPurging(false);
                toast(t`Queue ${queue} purged`);
              })
          }
        >
          {action.problem !== undefined && (
            <p role="alert" className="text-danger">
              {action.problem}
            </p>
          )}
        </ConfirmDialog>
      )}
    </div>
  );
}
