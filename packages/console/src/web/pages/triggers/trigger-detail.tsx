import { Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { kindOf, type TriggerItem } from "../../model/triggers.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { EmptyState, SkeletonRows } from "../../ui/data-region.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { configText } from "./model.ts";
import { TriggerStatus } from "./triggers-list.tsx";
import type { CronTrigger } from "./use-triggers.ts";

const HttpTester = lazy(() => import("./http/http-tester.tsx"));
const CronPanel = lazy(() => import("./cron-panel.tsx"));
const PublishPanel = lazy(() => import("./publish-panel.tsx"));

/** Details of a trigger, with the means to fire it. */
export function TriggerDetail({
  triggerId,
  trigger,
  isKnown,
  cron,
  cronError,
  siblings,
}: {
  readonly triggerId: string;
  readonly trigger: TriggerItem | undefined;
  readonly isKnown: boolean;
  readonly cron: CronTrigger | undefined;
  readonly cronError: Error | null;
  /** All triggers. The HTTP tester needs those that have the same path. */
  readonly siblings: readonly TriggerItem[];
}) {
  if (!isKnown) return <Loading />;
  if (trigger === undefined) {
    return (
      <EmptyState title={t`Trigger not found`}>
        {rich`${<code className="break-all">{triggerId}</code>} was removed with its worker, or never existed.`}
      </EmptyState>
    );
  }
  return (
    <div className="flex flex-col gap-5 p-4">
      <Facts trigger={trigger} isPaused={cron?.status === "paused"} />
      <Suspense fallback={<Loading />}>
        <Tester trigger={trigger} cron={cron} cronError={cronError} siblings={siblings} />
      </Suspense>
      <section>
        <h3 className="pb-1 font-medium">{t`Config`}</h3>
        <JsonView text={JSON.stringify(trigger.config ?? null)} name={t`config`} />
        {trigger.metadata !== null && trigger.metadata !== undefined && (
          <>
            <h3 className="pt-3 pb-1 font-medium">{t`Metadata`}</h3>
            <JsonView text={JSON.stringify(trigger.metadata)} name={t`metadata`} />
          </>
        )}
      </section>
    </div>
  );
}

function Facts({ trigger, isPaused }: { readonly trigger: TriggerItem; readonly isPaused: boolean }) {
  const description = configText(trigger, "description");
  return (
    <dl className="grid grid-cols-[max-content_1fr] gap-x-4 gap-y-1 [&>dt]:text-ink-2">
      <dt>{t`Status`}</dt>
      <dd className="flex flex-wrap items-center gap-2">
        <TriggerStatus trigger={trigger} isPaused={isPaused} />
        {trigger.reason !== null && <span className="break-words">{trigger.reason}</span>}
      </dd>
      {description !== undefined && (
        <>
          <dt>{t`Description`}</dt>
          <dd className="break-words">{description}</dd>
        </>
      )}
      <dt>{t`Type`}</dt>
      <dd>{trigger.trigger_type}</dd>
      <dt>{t`Function`}</dt>
      <dd className="break-all">
        <Link
          to="/functions/{-$functionId}"
          params={{ functionId: trigger.function_id }}
          className="font-mono text-[12px] text-accent underline"
        >
          {trigger.function_id}
        </Link>
      </dd>
      <dt>{t`Registered by`}</dt>
      <dd>
        <Link
          to="/workers/{-$workerId}"
          params={{ workerId: undefined }}
          search={{ q: trigger.worker_name }}
          className="text-accent underline"
        >
          {trigger.worker_name}
        </Link>
      </dd>
      <dt>{t`ID`}</dt>
      <dd className="flex min-w-0 items-center gap-1">
        <code className="min-w-0 truncate">{trigger.id}</code>
        <CopyButton text={trigger.id} label={t`Copy the trigger's ID`} className="h-6 w-6" />
      </dd>
    </dl>
  );
}

function Tester({
  trigger,
  cron,
  cronError,
  siblings,
}: {
  readonly trigger: TriggerItem;
  readonly cron: CronTrigger | undefined;
  readonly cronError: Error | null;
  readonly siblings: readonly TriggerItem[];
}) {
  switch (kindOf(trigger.trigger_type)) {
    case "http":
      return <HttpTester trigger={trigger} siblings={siblings} />;
    case "cron":
      return <CronPanel trigger={trigger} cron={cron} error={cronError} />;
    case "queue":
    case "event":
      return <PublishPanel trigger={trigger} />;
    case "state":
      return <StateLink trigger={trigger} />;
    default:
      return null;
  }
}

function StateLink({ trigger }: { readonly trigger: TriggerItem }) {
  const scope = configText(trigger, "scope");
  const key = configText(trigger, "key");
  return (
    <section>
      <h3 className="pb-1 font-medium">{t`Try it`}</h3>
      <p className="text-ink-2">{t`It fires when a matching item changes.`}</p>
      <Link
        to="/states/{-$group}/{-$key}"
        params={{ group: scope, key: scope === undefined ? undefined : key }}
        className="text-accent underline"
      >
        {scope === undefined
          ? t`Edit an item of any scope`
          : key === undefined
            ? t`Edit a key in scope ${scope}`
            : t`Edit ${key} in scope ${scope}`}
      </Link>
    </section>
  );
}

function Loading() {
  return (
    <div role="status" aria-label={t`Loading`} className="p-4">
      <SkeletonRows rows={5} />
    </div>
  );
}
