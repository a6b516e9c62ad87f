import { useHello } from "../../app/use-hello.tsx";
import { rich } from "../../labels/rich.ts";
import { t } from "../../labels/translate.ts";
import { Badge } from "../../ui/badge.tsx";
import { DataRegion } from "../../ui/data-region.tsx";
import { isModuleMissing, ModuleMissing } from "../../ui/module-missing.tsx";
import { Ago } from "../../ui/time.tsx";
import type { TelemetryStatus } from "./model.ts";
import { Fact, Facts, type PlainColumn, PlainTable, Section, Warning } from "./section.tsx";
import { SettingValue } from "./setting-value.tsx";
import { UsageBar } from "./usage-bar.tsx";
import { useSamplingRules, useTelemetryStatus } from "./use-config.ts";

const STATES: Readonly<Record<string, string>> = {
  failing: t`Failing`,
  listening: t`Listening`,
  off: t`Off`,
  ok: t`OK`,
  retrying: t`Retrying`,
};

const EXPORTERS: readonly PlainColumn<TelemetryStatus["exporters"][number]>[] = [
  { header: t`Signal`, cell: ({ signal }) => signal },
  { header: t`State`, cell: ({ state }) => <ExporterState state={state} /> },
  { header: t`Sent`, align: "right", cell: ({ sent }) => sent },
  { header: t`Queued`, align: "right", cell: ({ queued }) => queued },
  { header: t`Dropped`, align: "right", cell: ({ dropped }) => dropped },
  {
    header: t`Last success`,
    cell: ({ last_success_ms: at }) => (at === undefined || at === null ? t`never` : <Ago ms={at} />),
  },
  { header: t`Last error`, cell: ({ last_error: error }) => error ?? "–" },
];
const RECEIVERS: readonly PlainColumn<TelemetryStatus["receivers"][number]>[] = [
  {
    header: t`Receiver`,
    cell: ({ kind, address }) => `${kind.replace("_", " ")}${address === null ? "" : ` ${address}`}`,
  },
  { header: t`State`, cell: ({ state }) => STATES[state] ?? state },
  { header: t`Accepted`, align: "right", cell: ({ accepted }) => accepted.toLocaleString("en-GB") },
  { header: t`Rejected`, align: "right", cell: ({ refused }) => refused.toLocaleString("en-GB") },
];

function ExporterState({ state }: { readonly state: string }) {
  return (
    <Badge tone={state === "ok" ? "ok" : state === "retrying" ? "warn" : "danger"}>{STATES[state] ?? state}</Badge>
  );
}

/** Collected, stored and exported telemetry. */
export function TelemetrySection() {
  const { data, error, isPending, refetch } = useTelemetryStatus();
  const hello = useHello();
  const setting = (flag: string) => hello?.settings.find((each) => each.flag === flag)?.value;
  return (
    <Section title={t`OpenTelemetry`} description={t`Collected, stored and exported telemetry`}>
      {isModuleMissing(error) ? (
        <ModuleMissing module="svc-observability" what={t`Telemetry`} />
      ) : (
        <DataRegion loading={isPending} error={error} empty={false} emptyState={null} retry={() => void refetch()}>
          {data !== undefined && <Status status={data} />}
        </DataRegion>
      )}
      <div className="border-line border-t">
        <Facts>
          <Fact name={t`Console's own traces`}>
            {setting("--no-otel") === true
              ? rich`not sent (${<code>--no-otel</code>})`
              : rich`sent to the engine as service ${<code>{String(setting("--otel-service-name") ?? "…")}</code>}`}
          </Fact>
        </Facts>
      </div>
    </Section>
  );
}

function Status({ status }: { readonly status: TelemetryStatus }) {
  const { data: rules } = useSamplingRules();
  const isSent = status.exporter !== "memory";
  return (
    <>
      {status.dropped.length > 0 && (
        <Warning>
          {t`Dropped since the engine started: ${status.dropped
            .map(({ signal, reason, count }) => `${count.toLocaleString("en-GB")} ${signal} (${reason})`)
            .join(", ")}.`}
        </Warning>
      )}
      <Facts>
        <Fact name={t`Service name`}>
          <code>{status.service_name}</code>
        </Fact>
        <Fact name={t`Exporter`}>
          <code>{status.exporter}</code> {!isSent && t`– stored in the engine for this console, not exported`}
        </Fact>
        <Fact name={t`Endpoint`}>
          {isSent ? (
            <>
              <SettingValue name={t`endpoint`} value={status.endpoint} /> ({status.protocol})
            </>
          ) : (
            <span className="text-ink-3">{t`not used`}</span>
          )}
        </Fact>
        <Fact name={t`Sampling`}>
          {t`${percent(status.sampling.ratio)} of traces`}
          {status.sampling.rules > 0 && t`, with ${status.sampling.rules} exceptions`}
          {rules?.traces.keep_errors === true && t`; all failed traces`}
          {rules?.traces.keep_slow_ms != null && t`; all traces slower than ${rules.traces.keep_slow_ms} ms`}
          {rules !== undefined && t`; ${percent(rules.logs.sampling_ratio)} of logs`}
        </Fact>
        {rules?.traces.rules.map((rule) => (
          <Fact key={JSON.stringify(rule)} name={t`Sampling rule`}>
            <code className="break-all">{JSON.stringify(rule)}</code>
          </Fact>
        ))}
      </Facts>
      <div className="grid gap-x-6 gap-y-3 border-line border-t px-4 py-3 md:grid-cols-3">
        <UsageBar
          name={t`Traces (spans)`}
          figures={status.spans}
          off={t`Not stored: exporter is otlp. Set exporter to memory or both for the Traces page.`}
        />
        <UsageBar
          name={t`Logs`}
          figures={status.logs}
          off={t`Not stored. Set logs_enabled to true, and exporter to memory or both.`}
        />
        <UsageBar
          name={t`Metrics (series)`}
          figures={{
            stored: status.metrics.series,
            limit: status.metrics.limit,
            bytes: 0,
            max_bytes: 0,
            oldest_ms: null,
          }}
        />
      </div>
      {status.exporters.length > 0 && (
        <div className="border-line border-t">
          <PlainTable label={t`Exporters`} columns={EXPORTERS} rows={status.exporters} idOf={({ signal }) => signal} />
        </div>
      )}
      <div className="border-line border-t">
        <PlainTable
          label={t`Receivers`}
          columns={RECEIVERS}
          rows={status.receivers}
          idOf={({ kind, address }) => `${kind} ${address}`}
        />
      </div>
    </>
  );
}

function percent(ratio: number): string {
  return `${Math.round(ratio * 1_000) / 10} %`;
}
