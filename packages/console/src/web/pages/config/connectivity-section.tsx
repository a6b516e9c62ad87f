import { CircleAlert, CircleCheck, CircleX } from "lucide-react";
import type { Probe } from "../../../contract/api.ts";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { useProbeNow, useProbes } from "../../lib/use-probes.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { DataRegion } from "../../ui/data-region.tsx";
import { Ago, Duration } from "../../ui/time.tsx";
import { Section } from "./section.tsx";

const NAMES: Readonly<Record<Probe["name"], string>> = {
  engine_http: t`Engine HTTP API`,
  engine_realtime: t`Engine WebSocket server`,
  engine_bridge: t`Engine SDK bridge`,
  console: t`Console`,
};
const FLAGS: Readonly<Record<Probe["name"], string | undefined>> = {
  engine_http: "--engine-port",
  engine_realtime: "--ws-port",
  engine_bridge: "--bridge-port",
  console: undefined,
};
const STATUS = {
  ok: { label: t`Reachable`, tone: "ok", icon: CircleCheck },
  unreachable: { label: t`Unreachable`, tone: "danger", icon: CircleX },
  refused: { label: t`Refused`, tone: "danger", icon: CircleAlert },
} as const;

/**
 * Shows whether each port of the engine can be reached. The console's server probes the ports, because the browser
 * never connects to the engine.
 */
export function ConnectivitySection() {
  const { data, error, isPending, refetch } = useProbes();
  const test = useProbeNow();
  return (
    <Section
      title={t`Connectivity`}
      description={t`Probed by the console's server every 10 s`}
      controls={
        <Button isPending={test.isFetching} onClick={() => test.refetch()}>
          {t`Test now`}
        </Button>
      }
    >
      {test.error !== null && (
        <p role="alert" className="bg-danger-soft px-4 py-1.5 text-danger">
          {t`The test failed: ${test.error.message}`}
        </p>
      )}
      <DataRegion
        loading={isPending}
        error={error}
        empty={false}
        emptyState={null}
        retry={() => void refetch()}
        needsEngine={false}
      >
        <ul className="grid gap-px overflow-hidden rounded-b-lg bg-line sm:grid-cols-2 2xl:grid-cols-4">
          {data?.map((probe) => (
            <ProbeCard key={probe.name} probe={probe} />
          ))}
        </ul>
      </DataRegion>
    </Section>
  );
}

function ProbeCard({ probe }: { readonly probe: Probe }) {
  const { label, tone, icon: Icon } = STATUS[probe.status];
  const flag = FLAGS[probe.name];
  return (
    <li className="flex min-w-0 flex-col gap-1.5 bg-surface px-4 py-3" data-probe={probe.name}>
      <div className="flex items-center justify-between gap-2">
        <h3 className="font-medium">{NAMES[probe.name]}</h3>
        <Badge tone={tone} icon={<Icon aria-hidden className="size-3" />}>
          {label}
        </Badge>
      </div>
      <div className="flex min-w-0 items-center gap-1">
        <code className="min-w-0 truncate" title={probe.url}>
          {probe.url}
        </code>
        <CopyButton text={probe.url} label={t`Copy the address of ${NAMES[probe.name]}`} className="size-6" />
      </div>
      <p className="text-ink-2">
        {probe.latency_ms !== null && probe.name !== "console" && (
          <>
            <Duration ms={probe.latency_ms} /> ·{" "}
          </>
        )}
        {probe.last_ok_at_ms === null ? t`never reachable` : rich`last reached ${<Ago ms={probe.last_ok_at_ms} />}`}
      </p>
      {probe.reason !== null && <p className={probe.status === "ok" ? "text-warn" : "text-danger"}>{probe.reason}</p>}
      {probe.status !== "ok" && flag !== undefined && (
        <p className="text-ink-2">
          {rich`Check that the engine is running. If it listens on another port, start the console with ${<code>{flag}</code>}.`}
        </p>
      )}
    </li>
  );
}
