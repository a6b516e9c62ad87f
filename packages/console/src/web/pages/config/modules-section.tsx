import { Link } from "@tanstack/react-router";
import { t } from "../../labels/translate.ts";
import { Badge } from "../../ui/badge.tsx";
import { DataRegion } from "../../ui/data-region.tsx";
import { PlainTable, Section } from "./section.tsx";
import { useEffectiveConfig, useEngineInfo, useTriggerTypes } from "./use-config.ts";

export function ModulesSection() {
  return (
    <>
      <Modules />
      <TriggerTypes />
    </>
  );
}

const STATES: Readonly<Record<string, string>> = { failed: t`Failed`, running: t`Running`, starting: t`Starting` };

function Modules() {
  const { data, error, isPending, refetch } = useEngineInfo();
  const { data: config } = useEffectiveConfig();
  return (
    <Section title={t`Modules`} description={t`Built-in workers that this engine runs`}>
      <DataRegion loading={isPending} error={error} empty={false} emptyState={null} retry={() => void refetch()}>
        <PlainTable
          label={t`Modules`}
          rows={data?.modules ?? []}
          idOf={({ name }) => name}
          columns={[
            {
              header: t`Module`,
              cell: ({ name }) => (
                <Link
                  to="/workers/{-$workerId}"
                  params={{ workerId: `module:${name}` }}
                  search={{ system: true }}
                  className="text-accent underline"
                >
                  {name}
                </Link>
              ),
            },
            {
              header: t`State`,
              cell: ({ state }) => <Badge tone={state === "running" ? "ok" : "danger"}>{STATES[state] ?? state}</Badge>,
            },
            {
              header: t`Configured at`,
              cell: ({ name }) => {
                const where = config?.modules.find(({ instance }) => instance === name)?.where;
                return where === undefined ? (
                  <span className="text-ink-3">{t`built in`}</span>
                ) : (
                  <code className="whitespace-nowrap">{where}</code>
                );
              },
            },
            { header: t`Reason`, cell: ({ reason }) => reason ?? "–" },
          ]}
        />
      </DataRegion>
    </Section>
  );
}

function TriggerTypes() {
  const { data, error, isPending, refetch } = useTriggerTypes();
  return (
    <Section
      title={t`Trigger types`}
      description={t`Event sources that functions can be bound to, and their providers`}
    >
      <DataRegion
        loading={isPending}
        error={error}
        empty={data?.trigger_types.length === 0}
        emptyState={<p className="p-4 text-ink-2">{t`No module or worker provides a trigger type.`}</p>}
        retry={() => void refetch()}
      >
        <PlainTable
          label={t`Trigger types`}
          rows={data?.trigger_types ?? []}
          idOf={({ id }) => id}
          columns={[
            { header: t`Type`, cell: ({ id }) => <code className="whitespace-nowrap">{id}</code> },
            {
              header: t`Provided by`,
              cell: ({ workers, worker_name }) =>
                workers.length === 0
                  ? worker_name
                  : workers.map(({ id, name }) => (
                      <Link
                        key={id}
                        to="/workers/{-$workerId}"
                        params={{ workerId: id }}
                        search={{ system: true }}
                        className="mr-2 text-accent underline"
                      >
                        {name}
                      </Link>
                    )),
            },
            { header: t`Triggers`, align: "right", cell: ({ instance_count: count }) => count },
            { header: t`Description`, cell: ({ description }) => description, className: "min-w-60 text-ink-2" },
          ]}
        />
      </DataRegion>
    </Section>
  );
}
