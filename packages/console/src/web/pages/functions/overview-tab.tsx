import { Link } from "@tanstack/react-router";
import { useId, useMemo } from "react";
import { t } from "../../labels/translate.ts";
import { useCallLine, useDurationLine } from "../../lib/call-lines.ts";
import { useLiveCollection } from "../../lib/use-live.ts";
import type { FunctionItem } from "../../model/functions.ts";
import { type TriggerItem, triggerLabel } from "../../model/triggers.ts";
import { Badge } from "../../ui/badge.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { Sparkline } from "../../ui/sparkline.tsx";
import { Ago, Duration } from "../../ui/time.tsx";
import { type FunctionStats, STATUS_MEANINGS, STATUS_TONES, statusLabel } from "./model.ts";
import type { StatsByFunction } from "./use-function-stats.ts";

/** Description, workers, triggers and recent figures of the function. */
export function OverviewTab({ item, stats }: { readonly item: FunctionItem; readonly stats: StatsByFunction }) {
  const triggers = useLiveCollection<TriggerItem>("svc.triggers", ({ id }) => id);
  const labels = new Map(triggers.items.map((trigger) => [trigger.id, triggerLabel(trigger)]));
  return (
    <div className="flex flex-col gap-5 p-4">
      <div className="flex flex-wrap items-center gap-2">
        <Badge tone={STATUS_TONES[item.status] ?? "neutral"}>{statusLabel(item.status)}</Badge>
        <span className="text-ink-2">{STATUS_MEANINGS[item.status]}</span>
        {item.internal && <Badge>{t`System`}</Badge>}
        {item.validated && <Badge tone="info">{t`Validated input`}</Badge>}
      </div>
      <p className={item.description === null ? "text-ink-3" : "whitespace-pre-wrap"}>
        {item.description ?? t`No description`}
      </p>
      <Figures functionId={item.function_id} stats={stats.byId.get(item.function_id)} source={stats} />
      <div className="grid gap-5 sm:grid-cols-2">
        <LinkList
          title={t`Workers (${item.workers.length})`}
          none={t`No workers`}
          items={item.workers.map(({ id, name, node }) => ({
            key: id,
            content: (
              <Link
                to="/workers/{-$workerId}"
                params={{ workerId: id }}
                className="inline-flex min-h-6 items-center gap-1 text-accent underline"
              >
                {name} <span className="font-mono text-[11px]">{id.slice(0, 8)}</span>
                {node !== undefined && <span>{t`at ${node}`}</span>}
              </Link>
            ),
          }))}
        />
        <LinkList
          title={t`Triggers (${item.triggers.length})`}
          none={t`No triggers. The function runs only when it is called.`}
          items={item.triggers.map(({ id, type }) => ({
            key: id,
            content: (
              <Link
                to="/triggers/{-$triggerId}"
                params={{ triggerId: id }}
                className="inline-flex min-h-6 items-center gap-2 text-accent underline"
              >
                <Badge>{type}</Badge>
                <span className="font-mono text-[12px]">{labels.get(id) ?? id.slice(0, 8)}</span>
              </Link>
            ),
          }))}
        />
      </div>
      {item.metadata !== null && item.metadata !== undefined && (
        <section>
          <h3 className="pb-1 font-medium">{t`Metadata`}</h3>
          <JsonView text={JSON.stringify(item.metadata)} name={t`metadata`} />
        </section>
      )}
    </div>
  );
}

function LinkList({
  title,
  items,
  none,
}: {
  readonly title: string;
  readonly items: readonly { readonly key: string; readonly content: React.ReactNode }[];
  readonly none: string;
}) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h3 id={id} className="pb-1 font-medium">
        {title}
      </h3>
      {items.length === 0 ? (
        <p className="text-ink-3">{none}</p>
      ) : (
        <ul className="flex flex-col gap-1">
          {items.map(({ key, content }) => (
            <li key={key}>{content}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Figures({
  functionId,
  stats,
  source,
}: {
  readonly functionId: string;
  readonly stats: FunctionStats | undefined;
  readonly source: StatsByFunction;
}) {
  const functions = useMemo(() => new Set([functionId]), [functionId]);
  const line = useCallLine(functions, { function_id: functionId });
  const median = useDurationLine(functionId, "p50");
  const p95 = useDurationLine(functionId, "p95");
  if (!source.loaded)
    return source.error === null ? null : (
      <p role="alert" className="text-ink-2">
        {t`Failed to load the figures: ${source.error.message}`}
      </p>
    );
  if (stats === undefined) return <p className="text-ink-2">{t`Not called in the last 15 minutes.`}</p>;
  const figures: readonly {
    readonly name: string;
    readonly value: React.ReactNode;
    readonly line?: readonly (number | null)[] | undefined;
    readonly isBad?: boolean;
  }[] = [
    { name: t`Calls`, value: stats.calls.toLocaleString("en-GB"), line: line?.calls },
    { name: t`Per second`, value: stats.rate_per_second.toFixed(stats.rate_per_second < 10 ? 2 : 0) },
    {
      name: t`Errors`,
      value: `${stats.errors.toLocaleString("en-GB")} (${(stats.error_rate * 100).toFixed(stats.error_rate === 0 ? 0 : 1)} %)`,
      ...{ line: line?.errors, isBad: stats.errors > 0 },
    },
    { name: "p50", value: stats.p50_ms === null ? "–" : <Duration ms={stats.p50_ms} />, line: median },
    { name: "p95", value: stats.p95_ms === null ? "–" : <Duration ms={stats.p95_ms} />, line: p95 },
    { name: t`Last call`, value: stats.last_call == null ? "–" : <Ago ms={stats.last_call.at_ms} /> },
  ];
  return (
    <section aria-label={t`Last 15 minutes`}>
      <h3 className="pb-1 font-medium">{t`Last 15 minutes`}</h3>
      <dl className="grid grid-cols-[repeat(auto-fill,minmax(6.5rem,1fr))] gap-2">
        {figures.map(({ name, value, line: values, isBad = false }) => (
          <div key={name} className="rounded-md bg-raised px-3 py-2">
            <dt className="text-[12px] text-ink-2">{name}</dt>
            <dd className="font-medium tabular-nums">
              {value}
              {values !== undefined && (
                <Sparkline
                  values={values}
                  text={t`${name} over the last 15 minutes`}
                  tone={isBad ? "danger" : "accent"}
                  className="mt-1 block w-full"
                />
              )}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
