import { isDeepStrictEqual } from "node:util";
import { type ModuleContext, type RunningModule, systemClock } from "@svc-runtime/engine/module";
import { provideAlerts } from "./alerts/functions.ts";
import { observeCalls } from "./calls/observe-calls.ts";
import { CompositeCollector } from "./composite-collector.ts";
import type { ObservabilityConfig } from "./config.ts";
import { DropCounts } from "./drop-counts.ts";
import { engineResource } from "./engine-resource.ts";
import { EventLoopLag } from "./event-loop-lag.ts";
import { startExport } from "./export/start-export.ts";
import { startHealth } from "./health/health.ts";
import type { LogStoreStats } from "./logs/log-store.ts";
import { startLogs } from "./logs/start-logs.ts";
import { startMetrics } from "./metrics/metrics.ts";
import { RecordRate } from "./otlp/record-rate.ts";
import { startOtlp } from "./otlp/start-otlp.ts";
import { restartSettings } from "./restart-settings.ts";
import { SpanFanOut } from "./span-fan-out.ts";
import type { SpanStore, SpanStoreStats } from "./spans/span-store.ts";
import { startSpans } from "./spans/start-spans.ts";
import { measureStores, provideTelemetryStatus, type StatusParts, type StoreStats } from "./status.ts";

export async function startObservability(
  outer: ModuleContext<ObservabilityConfig>,
): Promise<RunningModule<ObservabilityConfig>> {
  const context = rejectingUnknownMembers(outer);
  let { config } = context;
  /** Functions that stop the started parts, in the order of the start. They are called in reverse order. */
  const running: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of running.splice(0).reverse()) await end();
  };
  try {
    const resource = engineResource(config, context.nodes?.name);
    const drops = new DropCounts();
    const spanSinks = new SpanFanOut();
    let storedSpans: SpanStore | undefined;
    const calls = observeCalls(context, { sink: spanSinks, drops, resource, storedSpans: () => storedSpans });
    running.push(() => calls.stop());
    const spans = await startSpans(context, { drops, redactor: calls.redactor });
    running.push(() => spans.stop());
    storedSpans = spans.store;
    spanSinks.add(spans.sink);
    // Uses the system clock even if the modules have another clock, because lag is measured in real time.
    const lag = new EventLoopLag(systemClock);
    running.push(() => lag.stop());
    const metrics = await startMetrics(context, {
      ...{ stats: calls.stats, totals: calls.workers, workerCalls: calls.workerCalls, drops, lag, resource },
    });
    running.push(() => metrics.stop());
    const exports = await startExport(context, {
      drops,
      metrics: () => metrics.snapshot(),
      show: (attributes) => calls.redactor().attributes(attributes),
    });
    // Exports are stopped before the metrics, because stopping them sends the metrics a last time.
    running.push(() => exports.stop());
    spanSinks.add(exports);
    const rate = new RecordRate(() => context.clock.monotonic());
    const logs = await startLogs(context, { drops, rate, sinks: [exports] });
    running.push(() => logs.stop());
    const otlp = await startOtlp(context, { spans: calls.spans, logs: logs.sink, metrics: metrics.sink, drops, rate });
    running.push(() => otlp.stop());
    context.telemetry.collect(
      new CompositeCollector(calls.recorder, {
        log: (entry) => logs.log(entry),
        ingest: (signal, body, source) => otlp.ingest(signal, body, source),
      }),
    );
    const stored: Pick<StatusParts, "spans" | "logs"> = {
      spans: () => {
        const stats = spans.store?.stats();
        return stats instanceof Promise ? stats.then(spanStatsOf) : spanStatsOf(stats);
      },
      logs: () => statsOf(logs.stats()),
    };
    provideTelemetryStatus(context, {
      config: () => config,
      drops,
      exports,
      otlp,
      metrics: () => metrics.counts(),
      ...stored,
    });
    measureStores(context.telemetry, stored);
    const alerts = await provideAlerts(context, metrics.reader);
    running.push(() => alerts.stop());
    running.push(startHealth(context, { config: () => config, lag }));
    // Lag is measured from now on, so that the start itself does not count as lag.
    lag.start();
    return {
      async reconfigure(next) {
        if (
          !isDeepStrictEqual(identityOf(next), identityOf(config)) ||
          spans.reconfigure(next) === "restart" ||
          logs.reconfigure(next) === "restart"
        ) {
          const settings = restartSettings(config, next);
          context.log.warn(
            `svc-observability restarts because ${settings} changed: traces, logs, metrics and invocations in memory are cleared`,
          );
          return "restart";
        }
        await metrics.reconfigure(next);
        await otlp.reconfigure(next);
        await exports.reconfigure(next);
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

/**
 * Functions that take queries. They reject unknown members, because a misspelt filter would otherwise be ignored and
 * match everything.
 */
const QUERY_FUNCTIONS = /^engine::(?:traces|logs|metrics|rollups|alerts|invocations)::/;

function rejectingUnknownMembers(context: ModuleContext<ObservabilityConfig>): ModuleContext<ObservabilityConfig> {
  const provideFunction: typeof context.provideFunction = (spec) =>
    context.provideFunction(QUERY_FUNCTIONS.test(spec.id) ? { ...spec, refusesMisspelt: true } : spec);
  // The object inherits the other members of the context, because a copy would evaluate their getters only once.
  return Object.create(context, { provideFunction: { value: provideFunction } }) as ModuleContext<ObservabilityConfig>;
}

function spanStatsOf(stats: SpanStoreStats | undefined): StoreStats | undefined {
  const shown = statsOf(stats);
  return shown && { ...shown, complete_since_ms: stats?.completeSinceMs ?? null };
}

function statsOf(stats: LogStoreStats | SpanStoreStats | undefined): StoreStats | undefined {
  if (stats === undefined) return undefined;
  const { stored, limit, bytes, maxBytes, diskBytes, oldestMs, unwritten } = stats;
  return {
    stored,
    limit: limit ?? null,
    bytes,
    max_bytes: maxBytes,
    disk_bytes: diskBytes,
    oldest_ms: oldestMs ?? null,
    unwritten,
  };
}

/** Returns the engine's identity, which cannot change while the module runs. */
function identityOf({ service_name, service_version, service_namespace }: ObservabilityConfig): unknown {
  return [service_name, service_version, service_namespace];
}
