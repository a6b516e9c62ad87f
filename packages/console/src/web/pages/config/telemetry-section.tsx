import { useHello } from "../../app/use-hello.tsx";
import { Badge } from "../../ui/badge.tsx";
import { DataRegion } from "../../ui/data-region.tsx";
import { isModuleMissing, ModuleMissing } from "../../ui/module-missing.tsx";
import { Ago } from "../../ui/time.tsx";
import type { TelemetryStatus } from "./model.ts";
import { Fact, Facts, type PlainColumn, PlainTable, Section, Warning } from "./section.tsx";
import { SettingValue } from "./setting-value.tsx";
import { UsageBar } from "./usage-bar.tsx";
import { useSamplingRules, useTelemetryStatus } from "./use-config.ts";

const EXPORTERS: readonly PlainColumn<TelemetryStatus["exporters"][number]>[] = [
  { header: "Signal", cell: ({ signal }) => signal },
  { header: "State", cell: ({ state }) => <ExporterState state={state} /> },
  { header: "Sent", align: "right", cell: ({ sent }) => sent },
  { header: "Queued", align: "right", cell: ({ queued }) => queued },
  { header: "Dropped", align: "right", cell: ({ dropped }) => dropped },
  {
    header: "Last success",
    cell: ({ last_success_ms: at }) => (at === undefined || at === null ? "never" : <Ago ms={at} />),
  },
  { header: "Last error", cell: ({ last_error: error }) => error ?? "–" },
];
const RECEIVERS: readonly PlainColumn<TelemetryStatus["receivers"][number]>[] = [
  {
    header: "Receiver",
    cell: ({ kind, address }) => `${kind.replace("_", " ")}${address === null ? "" : ` ${address}`}`,
  },
  { header: "State", cell: ({ state }) => <span className="capitalize">{state}</span> },
  { header: "Accepted", align: "right", cell: ({ accepted }) => accepted.toLocaleString("en-GB") },
  { header: "Rejected", align: "right", cell: ({ refused }) => refused.toLocaleString("en-GB") },
];

function ExporterState({ state }: { readonly state: string }) {
  return (
    <Badge tone={state === "ok" ? "ok" : state === "retrying" ? "warn" : "danger"} className="capitalize">
      {state}
    </Badge>
  );
}

/** Collected, stored and exported telemetry. */
export function TelemetrySection() {
  const { data, error, isPending, refetch } = useTelemetryStatus();
  const hello = useHello();
  const setting = (flag: string) => hello?.settings.find((each) => each.flag === flag)?.value;
  return (
    <Section title="OpenTelemetry" description="Collected, stored and exported telemetry">
      {isModuleMissing(error) ? (
        <ModuleMissing module="svc-observability" what="Telemetry" />
      ) : (
        <DataRegion loading={isPending} error={error} empty={false} emptyState={null} retry={() => void refetch()}>
          {data !== undefined && <Status status={data} />}
        </DataRegion>
      )}
      <div className="border-line border-t">
        <Facts>
          <Fact name="Console's own traces">
            {setting("--no-otel") === true ? (
              <>
                not sent (<code>--no-otel</code>)
              </>
            ) : (
              <>
                sent to the engine as service <code>{String(setting("--otel-service-name") ?? "…")}</code>
              </>
            )}
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
          Dropped since the engine started:{" "}
          {status.dropped
            .map(({ signal, reason, count }) => `${count.toLocaleString("en-GB")} ${signal} (${reason})`)
            .join(", ")}
          .
        </Warning>
      )}
      <Facts>
        <Fact name="Service name">
          <code>{status.service_name}</code>
        </Fact>
        <Fact name="Exporter">
          <code>{status.exporter}</code> {isSent ? "" : "– stored in the engine for this console, not exported"}
        </Fact>
        <Fact name="Endpoint">
          {isSent ? (
            <>
              <SettingValue name="endpoint" value={status.endpoint} /> ({status.protocol})
            </>
          ) : (
            <span className="text-ink-3">not used</span>
          )}
        </Fact>
        <Fact name="Sampling">
          {percent(status.sampling.ratio)} of traces
          {status.sampling.rules > 0 && `, with ${status.sampling.rules} exceptions`}
          {rules?.traces.keep_errors === true && "; all failed traces"}
          {rules?.traces.keep_slow_ms != null &&
            `; all traces slower than ${rules.traces.keep_slow_ms.toLocaleString("en-GB")} ms`}
          {rules !== undefined && `; ${percent(rules.logs.sampling_ratio)} of logs`}
        </Fact>
        {rules?.traces.rules.map((rule) => (
          <Fact key={JSON.stringify(rule)} name="Sampling rule">
            <code className="break-all">{JSON.stringify(rule)}</code>
          </Fact>
        ))}
      </Facts>
      <div className="grid gap-x-6 gap-y-3 border-line border-t px-4 py-3 md:grid-cols-3">
        <UsageBar
          name="Traces (spans)"
          figures={status.spans}
          off="Not stored: exporter is otlp. Set exporter to memory or both for the Traces page."
        />
        <UsageBar
          name="Logs"
          figures={status.logs}
          off="Not stored. Set logs_enabled to true, and exporter to memory or both."
        />
        <UsageBar
          name="Metrics (series)"
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
          <PlainTable label="Exporters" columns={EXPORTERS} rows={status.exporters} idOf={({ signal }) => signal} />
        </div>
      )}
      <div className="border-line border-t">
        <PlainTable
          label="Receivers"
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
