import type { ModuleContext } from "../../../kernel/module.ts";
import type { Undo } from "../../../kernel/scope.ts";
import type { MetricReader } from "../alerts/metric-reader.ts";
import type { CallStats } from "../calls/call-stats.ts";
import type { WorkerCounts } from "../calls/worker-counts.ts";
import type { ObservabilityConfig } from "../config.ts";
import type { DropCounts } from "../drop-counts.ts";
import type { EventLoopLag } from "../event-loop-lag.ts";
import type { MetricRecord, MetricSink, Resource } from "../model.ts";
import { provideMetricFunctions } from "./functions.ts";
import { LiveMetrics } from "./live-metrics.ts";
import { OutsideMetrics } from "./outside-metrics.ts";
import { metricReader } from "./reader.ts";
import { Sampler } from "./sampler.ts";
import { SeriesStore } from "./series-store.ts";
import { snapshotOf } from "./snapshot.ts";
import { BuiltInCounts } from "./sources/built-in-counts.ts";
import { CallFigures } from "./sources/call-figures.ts";
import { EngineFigures } from "./sources/engine-figures.ts";
import { ModuleFigures } from "./sources/module-figures.ts";
import { WorkerFigures } from "./sources/worker-figures.ts";
import { TimeLine } from "./time-line.ts";

/** What was silent too long is looked for each so many samples: each minute. */
const SAMPLES_PER_SWEEP = 12;

type Config = Pick<ObservabilityConfig, "metrics_enabled" | "metrics_max_count" | "metrics_retention_seconds" | "prometheus">;

/** What the other parts of the module need of metrics. */
export interface Metrics {
  /** For metrics that workers and other programs send. Drops them while metrics are off. */
  readonly sink: MetricSink;
  /** For alert rules. */
  readonly reader: MetricReader;
  /** Every series as it stands, cumulative, for export. */
  snapshot(): readonly MetricRecord[];
  /** For `engine::telemetry::status`. */
  counts(): { readonly series: number; readonly limit: number };
  /** Rejects when the address for Prometheus cannot be bound; the former one stays then. */
  reconfigure(next: Config): Promise<void>;
  stop(): void;
}

export interface MetricsParts {
  /** Of all calls. */
  readonly stats: CallStats;
  readonly totals: WorkerCounts;
  /** Of the whole module. */
  readonly drops: DropCounts;
  /** The owner starts and stops it. */
  readonly lag: Pick<EventLoopLag, "takeWorst">;
  /** Who the engine's own series are of. */
  readonly resource: Resource;
}

/** Starts to sample. */
export async function startMetrics(context: ModuleContext<Config>, { stats, totals, drops, lag, resource }: MetricsParts): Promise<Metrics> {
  const { clock, directory, telemetry, streams } = context;
  let config: Config = context.config;
  const timeLine = new TimeLine(clock);
  const limits = () => ({ maxSeries: config.metrics_max_count, retentionMs: config.metrics_retention_seconds * 1_000 });
  const store = new SeriesStore({ timeLine, limits, drops });
  const workers = new WorkerFigures({ store, directory, clock });
  const outside = new OutsideMetrics({ store, workers, drops });
  const live = new LiveMetrics(store, streams);
  const calls = new CallFigures(stats, store);
  const engine = new EngineFigures({ store, directory, lag, drops });
  const counts = new BuiltInCounts({ store, stats, workers: totals });
  const modules = new ModuleFigures({ telemetry, store, clock, drops });
  let samples = 0;
  /** Nothing was sampled for a while, until now. */
  let resumes = false;
  const sampler = new Sampler({
    clock,
    timeLine,
    sample(at) {
      calls.sample(at);
      engine.sample(at);
      modules.sample(at, { skips: resumes });
      resumes = false;
      counts.sample(at);
      workers.sample();
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
  provideMetricFunctions(context, { store, stats, workers, totals });

  let closePrometheus: Undo = () => {};

  function start(): void {
    // What came before is no sample's.
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
    sink: { add: (metric) => (config.metrics_enabled ? outside.add(metric) : undefined) },
    reader: metricReader({
      store,
      catchUp() {
        const at = sampler.running();
        calls.sampleEnded(at);
        counts.sample(at);
      },
      problem: () => (config.metrics_enabled ? undefined : "nothing is measured: metrics_enabled of svc-observability is false"),
    }),
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

/** Equal for configs that Prometheus is served alike with. */
function addressOf({ metrics_enabled, prometheus }: Config): string {
  return JSON.stringify([metrics_enabled, prometheus ?? null]);
}
