import type { ModuleContext, RunningModule } from "../../kernel/module.ts";
import type { Attributes } from "../../kernel/telemetry-contract.ts";
import { provideAlerts } from "./alerts/functions.ts";
import { observeCalls } from "./calls/observe-calls.ts";
import { JoinedCollector } from "./collector.ts";
import type { ObservabilityConfig } from "./config.ts";
import { DropCounts } from "./drop-counts.ts";
import { startHealth } from "./health/health.ts";
import { startLogs } from "./logs/start-logs.ts";
import { startMetrics } from "./metrics/metrics.ts";
import type { Resource } from "./model.ts";
import { startIngest } from "./otlp/start-ingest.ts";
import { SpanFanOut } from "./span-fan-out.ts";
import { startSpans } from "./spans/start-spans.ts";

/** Joins the parts of the module. */
export async function startObservability(context: ModuleContext<ObservabilityConfig>): Promise<RunningModule<ObservabilityConfig>> {
  let { config } = context;
  /** What runs, in the order of its start; stopped in reverse. */
  const running: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of running.splice(0).reverse()) await end();
  };
  try {
    const resource = engineResource(config);
    const drops = new DropCounts();
    const spanSinks = new SpanFanOut();
    const calls = observeCalls(context, { sink: spanSinks, drops, resource });
    running.push(() => calls.stop());
    const spans = await startSpans(context, drops);
    running.push(() => spans.stop());
    spanSinks.add(spans.sink);
    const logs = await startLogs(context, { drops });
    running.push(() => logs.stop());
    const metrics = await startMetrics(context, { stats: calls.stats, totals: calls.workers, drops, resource });
    running.push(() => metrics.stop());
    const ingest = await startIngest(context, { spans: calls.spans, logs: logs.sink, metrics: metrics.sink, drops, now: () => context.clock.now() });
    running.push(() => ingest.stop());
    context.telemetry.collect(new JoinedCollector(calls.recorder, { log: (entry) => logs.log(entry), ingest: ingest.take }));
    const alerts = await provideAlerts(context, metrics.reader);
    running.push(() => alerts.stop());
    running.push(startHealth(context, { config: () => config }));
    return {
      async reconfigure(next) {
        if (fixedPart(next) !== fixedPart(config) || logs.reconfigure(next) === "restart") return "restart";
        await metrics.reconfigure(next);
        calls.reconfigure(next);
        await alerts.reconfigure(next.alerts);
        config = next;
        return undefined;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The engine as the one who produces spans. */
function engineResource({ service_name, service_version, service_namespace }: ObservabilityConfig): Resource {
  const attributes: Record<string, string> = {};
  if (service_version !== undefined) attributes["service.version"] = service_version;
  if (service_namespace !== undefined) attributes["service.namespace"] = service_namespace;
  return { service: service_name, workerId: undefined, attributes: attributes satisfies Attributes };
}

/** What cannot change while the module runs: who it is, and where what it keeps lies and goes. */
function fixedPart(config: ObservabilityConfig): string {
  const { service_name, service_version, service_namespace, otlp_receiver, trace_storage, sampling, redact_keys } = config;
  const { exporter, endpoint, protocol, headers, logs_exporter, metrics_exporter, metrics_interval_seconds, memory_max_spans, memory_max_bytes } = config;
  const names = [service_name, service_version, service_namespace];
  const sent = [exporter, endpoint, protocol, headers, logs_exporter, metrics_exporter, metrics_interval_seconds];
  return JSON.stringify([names, otlp_receiver, sent, trace_storage, memory_max_spans, memory_max_bytes, sampling?.keep_slow_ms, redact_keys]);
}
