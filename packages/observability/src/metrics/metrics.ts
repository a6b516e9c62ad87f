import type { ModuleContext, Undo } from "@svc-runtime/engine/module";
import type { CallStats } from "../calls/call-stats.ts";
import type { WorkerCalls } from "../calls/worker-calls.ts";
import type { WorkerCounts } from "../calls/worker-counts.ts";
import type { ObservabilityConfig } from "../config.ts";
import type { DropCounts } from "../drop-counts.ts";
import type { EventLoopLag } from "../event-loop-lag.ts";
import type { MetricRecord, MetricSink, Resource } from "../telemetry-records.ts";
import { ExternalMetrics } from "./external-metrics.ts";
import { provideMetricFunctions } from "./functions.ts";
import { LiveMetrics } from "./live-metrics.ts";
import { MetricSampler } from "./metric-sampler.ts";
import { type MetricReader, metricReader } from "./reader.ts";
import { SeriesStore } from "./series-store.ts";
import { snapshotOf } from "./snapshot.ts";
import { BuiltinCounters } from "./sources/builtin-counters.ts";
import { CallCollector } from "./sources/call-collector.ts";
import { EngineCollector } from "./sources/engine-collector.ts";
import { ModuleCollector } from "./sources/module-collector.ts";
import { WorkerCollector } from "./sources/worker-collector.ts";
import { TimeLine } from "./time-line.ts";

/** Inactive series are removed every 12 samples, i.e. every minute. */
const SAMPLES_PER_SWEEP = 12;

type Config = Pick<
  ObservabilityConfig,
  "metrics_enabled" | "metrics_max_count" | "metrics_retention_seconds" | "prometheus"
>;

export interface Metrics {
  /** Takes metrics that workers and other programs send. Drops them while metrics are off. */
  readonly sink: MetricSink;
  readonly reader: MetricReader;
  /** Returns every series with its cumulative value, for export. */
  snapshot(): readonly MetricRecord[];
  counts(): { readonly series: number; readonly limit: number };
  /**
   * Applies a changed config. Rejects if the address for Prometheus cannot be bound; the previous listener stays open
   * then.
   */
  reconfigure(next: Config): Promise<void>;
  stop(): void;
}

export interface MetricsParts {
  readonly stats: CallStats;
  readonly totals: WorkerCounts;
  readonly workerCalls: WorkerCalls;
  readonly drops: DropCounts;
  /** The event loop's lag. The caller of `startMetrics` starts and stops the measurement. */
  readonly lag: Pick<EventLoopLag, "takeWorst">;
  /** Resource to which the engine's own series belong. */
  readonly resource: Resource;
}

export async function startMetrics(
  context: ModuleContext<Config>,
  { stats, totals, workerCalls, drops, lag, resource }: MetricsParts,
): Promise<Metrics> {
  const { clock, directory, telemetry, streams } = context;
  let config: Config = context.config;
  const timeLine = new TimeLine(clock);
  const limits = () => ({ maxSeries: config.metrics_max_count, retentionMs: config.metrics_retention_seconds * 1_000 });
  const store = new SeriesStore({ timeLine, limits, drops });
  const workers = new WorkerCollector({ store, directory, clock });
  const external = new ExternalMetrics({ store, workers, drops });
  const live = new LiveMetrics(store, streams);
  const calls = new CallCollector(stats, store);
  const engine = new EngineCollector({ store, directory, lag, drops });
  const counts = new BuiltinCounters({ store, stats, workers: totals });
  const modules = new ModuleCollector({ telemetry, store, clock, drops });
  let samples = 0;
  /** True if sampling was off until now. */
  let resumes = false;
  const sampler = new MetricSampler({
    clock,
    timeLine,
    sample(at) {
      calls.sample(at);
      engine.sample(at);
      modules.sample(at, { skips: resumes });
      resumes = false;
      counts.sample(at);
      workers.sample();
      workerCalls.sample();
      live.sampled(at);
      if (++samples % SAMPLES_PER_SWEEP === 0) store.sweep();
    },
  });
  telemetry.provideWorkerMetrics((workerId) => {
    const latest = workers.latest(workerId);
    if (latest === undefined) return undefined;
    const { source, ...metrics } = latest;
    return metrics;
  });
  const reader = metricReader({
    store,
    catchUp() {
      const at = sampler.running();
      calls.sampleEnded(at);
      counts.sample(at);
    },
    problem: () =>
      config.metrics_enabled ? undefined : "metrics are off: metrics_enabled of svc-observability is false",
  });
  provideMetricFunctions(context, { store, stats, workers, workerCalls, totals, reader });

  let closePrometheus: Undo = () => {};

  function start(): void {
    // Resets the maximum lag, because lag from before the start belongs to no sample.
    lag.takeWorst();
    sampler.start();
  }
  async function serve(next: Config): Promise<void> {
    const { prometheus } = next;
    if (!next.metrics_enabled || prometheus?.enabled !== true) {
      closePrometheus();
      closePrometheus = () => {};
      return;
    }
    const { servePrometheus } = await import("./prometheus/serve.ts");
    const address = { host: prometheus.host, port: prometheus.port };
    const closeNext = await servePrometheus(context, { store, own: resource, address });
    closePrometheus();
    closePrometheus = closeNext;
  }

  await serve(config);
  if (config.metrics_enabled) start();
  return {
    sink: { add: (metric) => (config.metrics_enabled ? external.add(metric) : undefined) },
    reader,
    snapshot: () => snapshotOf(store, resource),
    counts: () => ({ series: store.size, limit: store.limit }),
    async reconfigure(next) {
      if (addressOf(next) !== addressOf(config)) await serve(next);
      const before = config;
      config = next;
      if (before.metrics_enabled === next.metrics_enabled) return;
      if (next.metrics_enabled) {
        calls.skip();
        counts.skip();
        resumes = true;
        start();
      } else sampler.stop();
    },
    stop() {
      sampler.stop();
      closePrometheus();
    },
  };
}

/** Returns a text that is equal for configs with the same Prometheus listener. */
function addressOf({ metrics_enabled, prometheus }: Config): string {
  return JSON.stringify([metrics_enabled, prometheus ?? null]);
}
