import { Link } from "@tanstack/react-router";
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

function Modules() {
  const { data, error, isPending, refetch } = useEngineInfo();
  const { data: config } = useEffectiveConfig();
  return (
    <Section title="Modules" description="Built-in workers that this engine runs">
      <DataRegion loading={isPending} error={error} empty={false} emptyState={null} retry={() => void refetch()}>
        <PlainTable
          label="Modules"
          rows={data?.modules ?? []}
          idOf={({ name }) => name}
          columns={[
            {
              header: "Module",
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
              header: "State",
              cell: ({ state }) => (
                <Badge tone={state === "running" ? "ok" : "danger"} className="capitalize">
                  {state}
                </Badge>
              ),
            },
            {
              header: "Configured at",
              cell: ({ name }) => {
                const where = config?.modules.find(({ instance }) => instance === name)?.where;
                return where === undefined ? (
                  <span className="text-ink-3">built in</span>
                ) : (
                  <code className="whitespace-nowrap">{where}</code>
                );
              },
            },
            { header: "Reason", cell: ({ reason }) => reason ?? "–" },
          ]}
        />
      </DataRegion>
    </Section>
  );
}

function TriggerTypes() {
  const { data, error, isPending, refetch } = useTriggerTypes();
  return (
    <Section title="Trigger types" description="Event sources that functions can be bound to, and their providers">
      <DataRegion
        loading={isPending}
        error={error}
        empty={data?.trigger_types.length === 0}
        emptyState={<p className="p-4 text-ink-2">No module or worker provides a trigger type.</p>}
        retry={() => void refetch()}
      >
        <PlainTable
          label="Trigger types"
          rows={data?.trigger_types ?? []}
          idOf={({ id }) => id}
          columns={[
            { header: "Type", cell: ({ id }) => <code className="whitespace-nowrap">{id}</code> },
            {
              header: "Provided by",
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
            { header: "Triggers", align: "right", cell: ({ instance_count: count }) => count },
            { header: "Description", cell: ({ description }) => description, className: "min-w-60 text-ink-2" },
          ]}
        />
      </DataRegion>
    </Section>
  );
}
