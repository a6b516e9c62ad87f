import type { ModuleContext, RunningModule } from "../../kernel/module.ts";
import type { Attributes } from "../../kernel/telemetry-contract.ts";
import { type AlertFunctions, provideAlerts } from "./alerts/functions.ts";
import { observeCalls } from "./calls/observe-calls.ts";
import { JoinedCollector } from "./collector.ts";
import type { ObservabilityConfig } from "./config.ts";
import { DropCounts } from "./drop-counts.ts";
import { startExport } from "./export/start-export.ts";
import { startHealth } from "./health/health.ts";
import { startMetrics } from "./metrics/metrics.ts";
import type { Resource } from "./model.ts";
import { startOtlp } from "./otlp/start-otlp.ts";
import { SpanFanOut } from "./span-fan-out.ts";
import { spanSettings, startSpans } from "./spans/start-spans.ts";
import { provideTelemetryStatus } from "./status.ts";

/** Joins the parts of the module. */
export async function startObservability(context: ModuleContext<ObservabilityConfig>): Promise<RunningModule<ObservabilityConfig>> {
  const resource = engineResource(context.config);
  const spanSinks = new SpanFanOut();
  const drops = new DropCounts();
  // Before anything is told, so that no span is missed.
  const spans = await startSpans(context, drops);
  spanSinks.add(spans.sink);
  const calls = observeCalls(context, { sink: spanSinks, drops, resource });
  const metrics = await startMetrics(context, { stats: calls.stats, totals: calls.workers, drops, resource });
  const exports = await startExport(context, { drops, metrics: () => metrics.snapshot(), show: (attributes) => calls.redactor().attributes(attributes) });
  spanSinks.add(exports);
  const otlp = await startOtlp(context, { spans: calls.spans, logs: exports, metrics: metrics.sink, drops });
  let { config } = context;
  let alerts: AlertFunctions;
  try {
    alerts = await provideAlerts(context, metrics.reader);
  } catch (error) {
    otlp.stop();
    metrics.stop();
    calls.stop();
    await exports.stop();
    await spans.stop();
    throw error;
  }
  const stopHealth = startHealth(context, { config: () => config });
  provideTelemetryStatus(context, { config: () => config, drops, exports, otlp, metrics: () => metrics.counts() });
  context.telemetry.collect(new JoinedCollector(calls.recorder, { log: () => {}, ingest: (signal, body, source) => otlp.ingest(signal, body, source) }));
  return {
    async reconfigure(next) {
      if (engineNames(next) !== engineNames(context.config) || spanSettings(next) !== spanSettings(context.config)) return "restart";
      await metrics.reconfigure(next);
      await otlp.reconfigure(next);
      await exports.reconfigure(next);
      calls.reconfigure(next);
      await alerts.reconfigure(next.alerts);
      config = next;
      return undefined;
    },
    async stop() {
      stopHealth();
      await alerts.stop();
      otlp.stop();
      calls.stop();
      // Metrics are sent a last time as they are now.
      await exports.stop();
      metrics.stop();
      await spans.stop();
    },
  };
}

/** The engine as the one who produces spans. */
function engineResource({ service_name, service_version, service_namespace }: ObservabilityConfig): Resource {
  const attributes: Record<string, string> = {};
  if (service_version !== undefined) attributes["service.version"] = service_version;
  if (service_namespace !== undefined) attributes["service.namespace"] = service_namespace;
  return { service: service_name, workerId: undefined, attributes: attributes satisfies Attributes };
}

function engineNames({ service_name, service_version, service_namespace }: ObservabilityConfig): string {
  return JSON.stringify([service_name, service_version, service_namespace]);
}
