import { CircleAlert, CircleCheck, CircleMinus, CircleX } from "lucide-react";
import { t } from "../../labels/translate.ts";
import { Badge } from "../../ui/badge.tsx";
import { DataRegion } from "../../ui/data-region.tsx";
import { isModuleMissing, ModuleMissing } from "../../ui/module-missing.tsx";
import { Ago } from "../../ui/time.tsx";
import type { HealthState } from "./model.ts";
import { PlainTable, Section } from "./section.tsx";
import { useHealth } from "./use-config.ts";

const STATES = {
  healthy: { label: t`Healthy`, tone: "ok", icon: CircleCheck },
  degraded: { label: t`Degraded`, tone: "warn", icon: CircleAlert },
  unhealthy: { label: t`Unhealthy`, tone: "danger", icon: CircleX },
  disabled: { label: t`Disabled`, tone: "neutral", icon: CircleMinus },
} as const;

export function HealthBadge({ state }: { readonly state: HealthState }) {
  const { label, tone, icon: Icon } = STATES[state];
  return (
    <Badge tone={tone} icon={<Icon aria-hidden className="size-3" />}>
      {label}
    </Badge>
  );
}

export function HealthSection() {
  const { data, error, isPending, refetch } = useHealth();
  return (
    <Section
      title={t`Health`}
      description={t`The engine and its components, every 5 s`}
      controls={data !== undefined && <HealthBadge state={data.status} />}
    >
      {isModuleMissing(error) ? (
        <ModuleMissing module="svc-observability" what={t`Health`} />
      ) : (
        <DataRegion loading={isPending} error={error} empty={false} emptyState={null} retry={() => void refetch()}>
          <PlainTable
            label={t`Engine components`}
            rows={Object.entries(data?.components ?? {})}
            idOf={([name]) => name}
            columns={[
              {
                header: t`Component`,
                cell: ([name]) => <span className="whitespace-nowrap">{name.replaceAll("_", " ")}</span>,
              },
              { header: t`State`, cell: ([, { status }]) => <HealthBadge state={status} /> },
              {
                header: t`Since`,
                cell: ([, { since_ms: since }]) =>
                  since === undefined ? "–" : <Ago ms={since} className="whitespace-nowrap" />,
              },
              { header: t`Details`, cell: ([, { details }]) => <Details text={details} />, className: "min-w-60" },
            ]}
          />
        </DataRegion>
      )}
    </Section>
  );
}

/** Shows a text such as `svc-state: takes writes; svc-queue: …` with one line per component. */
function Details({ text }: { readonly text: string }) {
  return (
    <>
      {text.split("; ").map((part) => (
        <span key={part} className="block">
          {part}
        </span>
      ))}
    </>
  );
}
