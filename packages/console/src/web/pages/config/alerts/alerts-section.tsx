import { Bell, BellOff, Plus } from "lucide-react";
import { useState } from "react";
import { useWriteRefusal } from "../../../app/use-hello.tsx";
import { rich } from "../../../labels/rich.ts";
import { t } from "../../../labels/translate.ts";
import { useLiveState } from "../../../lib/use-live.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { DataRegion, EmptyState } from "../../../ui/data-region.tsx";
import { isModuleMissing, ModuleMissing } from "../../../ui/module-missing.tsx";
import { Ago, Timestamp, useNow } from "../../../ui/time.tsx";
import { PlainTable, Section } from "../section.tsx";
import { AlertActions } from "./alert-actions.tsx";
import { operatorSign } from "./alert-draft.ts";
import { AlertForm } from "./alert-form.tsx";
import { type Alert, useAlertHistory, useAlerts } from "./use-alerts.ts";

/** Alerts of the engine with their state, actions and history. */
export default function AlertsSection() {
  const { phase } = useLiveState();
  const refusal = useWriteRefusal(phase);
  const [isNew, setNew] = useState(false);
  const [edited, setEdited] = useState<Alert>();
  const { data, error, isPending, refetch } = useAlerts();
  if (isModuleMissing(error)) return <ModuleMissing module="svc-observability" what={t`Alerting`} />;
  return (
    <>
      <Section
        title={t`Alerts`}
        description={t`Evaluated every 5 s. Alerts from the config file can only be edited there.`}
        controls={
          <Button
            icon={<Plus aria-hidden className="size-3.5" />}
            disabledReason={refusal}
            onClick={() => setNew(true)}
          >
            {t`New alert`}
          </Button>
        }
      >
        <DataRegion
          loading={isPending}
          error={error}
          empty={data?.alerts.length === 0}
          emptyState={
            <EmptyState title={t`No alerts`} snippet={SNIPPET}>
              {t`An alert watches a metric and notifies you when it crosses a threshold. Create one here or in the config file.`}
            </EmptyState>
          }
          retry={() => void refetch()}
        >
          <PlainTable
            label={t`Alerts`}
            rows={data?.alerts ?? []}
            idOf={({ name }) => name}
            columns={[
              { header: t`Alert`, cell: (alert) => <NameAndRule alert={alert} />, className: "min-w-52" },
              { header: t`State`, cell: (alert) => <AlertState alert={alert} /> },
              {
                header: t`Value`,
                align: "right",
                cell: ({ current_value: now }) =>
                  now === null ? <span title={t`No series has a value in this window`}>–</span> : round(now),
              },
              {
                header: t`Last fired`,
                cell: ({ last_triggered: at }) =>
                  at === null ? t`never` : <Ago ms={at} className="whitespace-nowrap" />,
              },
              { header: t`Action`, cell: (alert) => <Action alert={alert} /> },
              {
                header: t`Change`,
                cell: (alert) => <AlertActions alert={alert} refusal={refusal} onEdit={() => setEdited(alert)} />,
              },
            ]}
          />
        </DataRegion>
      </Section>
      <History />
      {isNew && <AlertForm alert={undefined} refusal={refusal} onClose={() => setNew(false)} />}
      {edited !== undefined && <AlertForm alert={edited} refusal={refusal} onClose={() => setEdited(undefined)} />}
    </>
  );
}

const SNIPPET = `workers:
  - name: svc-observability
    config:
      alerts:
        - name: many errors
          metric: svc.calls
          labels: { status: error }
          threshold: 10`;

function NameAndRule({ alert }: { readonly alert: Alert }) {
  const labels = Object.entries(alert.labels).map(([name, value]) => `${name}=${value}`);
  return (
    <>
      <span className="font-medium">{alert.name}</span>
      <span className="block text-ink-3">
        <code>
          {alert.metric}
          {labels.length > 0 && `{${labels.join(", ")}}`}
        </code>{" "}
        {operatorSign(alert.operator)} {alert.threshold}
        {alert.rate && t` per second`} {t`over ${alert.window_seconds} s`}
        {alert.for_seconds > 0 && t`, for ${alert.for_seconds} s`}
      </span>
    </>
  );
}

function AlertState({ alert }: { readonly alert: Alert }) {
  const now = useNow();
  const isSilent = alert.silenced_until !== null && alert.silenced_until > now;
  return (
    <span className="flex flex-col items-start gap-1">
      {!alert.enabled ? (
        <Badge>{t`Disabled`}</Badge>
      ) : alert.firing ? (
        <Badge tone="danger" icon={<Bell aria-hidden className="size-3" />}>
          {t`Firing`}
        </Badge>
      ) : (
        <Badge tone="ok">{t`Normal`}</Badge>
      )}
      {isSilent && (
        <Badge tone="warn" icon={<BellOff aria-hidden className="size-3" />}>
          {rich`Silenced until ${<Timestamp ms={alert.silenced_until ?? 0} withMs={false} />}`}
        </Badge>
      )}
    </span>
  );
}

function Action({ alert }: { readonly alert: Alert }) {
  const target = alert.action.url ?? alert.action.path;
  return (
    <>
      {alert.action.type === "log" ? t`log entry` : alert.action.type}
      {target !== undefined && <code className="block break-all">{target}</code>}
      {alert.action_failures > 0 && (
        <span className="block text-danger">
          {rich`failed ${alert.action_failures} times${alert.last_action_error !== null && `: ${alert.last_action_error}`}`}
        </span>
      )}
      <span className="block text-ink-3">
        {alert.source === "config" ? t`from the config file` : t`created at run time`}
      </span>
    </>
  );
}

function History() {
  const { data, error } = useAlertHistory();
  if (error !== null && data === undefined) {
    return (
      <p role="alert" className="text-danger">
        {t`Failed to load the alert history: ${error.message}`}
      </p>
    );
  }
  if (data === undefined || data.events.length === 0) return null;
  return (
    <Section
      title={t`Alert history`}
      description={t`The last ${data.events.length} of ${data.total} since the engine started`}
    >
      <PlainTable
        label={t`Alert history`}
        rows={data.events}
        idOf={({ name, timestamp, state }) => `${timestamp} ${name} ${state}`}
        columns={[
          {
            header: t`Time`,
            cell: ({ timestamp }) => <Timestamp ms={timestamp} as="date" className="whitespace-nowrap" />,
          },
          { header: t`Alert`, cell: ({ name }) => name },
          {
            header: t`State`,
            cell: ({ state }) =>
              state === "firing" ? <Badge tone="danger">{t`Firing`}</Badge> : <Badge tone="ok">{t`Resolved`}</Badge>,
          },
        ]}
      />
    </Section>
  );
}

function round(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toPrecision(4);
}
