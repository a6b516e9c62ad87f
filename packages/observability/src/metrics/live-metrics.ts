import type { Streams, SystemStream } from "@svc-runtime/engine/module";
import {
  CALL_DURATION,
  CALLS,
  CALLS_IN_FLIGHT,
  ENGINE_CONNECTIONS,
  ENGINE_CPU,
  ENGINE_HEAP,
  ENGINE_LAG,
  ENGINE_RSS,
  FUNCTIONS,
  STREAMS,
  TRIGGERS,
  WORKERS,
} from "./builtin-metrics.ts";
import { DURATION_LAYOUT } from "./duration-histogram.ts";
import { type HistogramCounts, mergeHistograms, percentileOf } from "./histogram.ts";
import { periodOf, SAMPLES } from "./rollup-levels.ts";
import { HistogramSeries, type MetricInfo, NumberSeries } from "./series.ts";
import type { SeriesStore } from "./series-store.ts";

/** The dashboard's values for one period of 5 s. Null values were not measured. */
interface Values {
  readonly calls_per_second: number;
  readonly errors_per_second: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  readonly p99_ms: number | null;
  readonly calls_in_flight: number | null;
  readonly functions: number | null;
  readonly triggers: number | null;
  readonly workers: number | null;
  readonly streams: number | null;
  readonly connections: number | null;
  readonly cpu_percent: number | null;
  readonly rss_bytes: number | null;
  readonly heap_used_bytes: number | null;
  readonly event_loop_lag_ms: number | null;
}

interface MetricsSample extends Values {
  /** Start of the period of 5 s, in milliseconds since 1970. */
  readonly at_ms: number;
}

/** Number of samples that a new subscriber receives. */
const KEPT_SAMPLES = SAMPLES.periods - 1;

/**
 * Provides the stream `svc.metrics`. A subscriber receives the samples of the last 15 min, then each new sample as an
 * event of type `sample`.
 */
export class LiveMetrics {
  readonly #store: SeriesStore;
  readonly #stream: SystemStream;
  /**
   * Values by period. They are computed once when the sample is taken, because otherwise each new subscriber would
   * cause a read of every series.
   */
  readonly #samples: { readonly period: number; readonly values: Values }[] = [];

  constructor(store: SeriesStore, streams: Pick<Streams, "provideSystemStream">) {
    this.#store = store;
    this.#stream = streams.provideSystemStream({
      name: "svc.metrics",
      summary: "The engine's main metrics, every 5 s; a new subscriber receives the last 15 min",
      snapshot: (id) =>
        JSON.stringify(
          id === undefined ? this.#history() : (this.#history().find(({ at_ms }) => String(at_ms) === id) ?? null),
        ),
    });
  }

  sampled(at: number): void {
    const period = periodOf(at, SAMPLES);
    if (this.#samples.at(-1)?.period === period) this.#samples.pop();
    const values = this.#values(period);
    if (values === undefined) return;
    const sample = { period, values };
    this.#samples.push(sample);
    if (this.#samples.length > KEPT_SAMPLES) this.#samples.shift();
    if (this.#stream.subscribers === 0) return;
    this.#stream.publish({
      id: null,
      type: "event",
      json: JSON.stringify({ type: "sample", data: this.#shown(sample) }),
    });
  }

  #history(): readonly MetricsSample[] {
    // The current period has no sample yet.
    const first = periodOf(this.#store.timeLine.now(), SAMPLES) - KEPT_SAMPLES;
    return this.#samples.filter(({ period }) => period >= first).map((sample) => this.#shown(sample));
  }

  /**
   * Returns a sample with its time. The time is converted only now, because the clock may have been set since the
   * sample was taken.
   */
  #shown({ period, values }: { readonly period: number; readonly values: Values }): MetricsSample {
    return { at_ms: this.#store.timeLine.shown(period * SAMPLES.stepMs), ...values };
  }

  /** Returns undefined if the engine did not run in this period, or was suspended. */
  #values(period: number): Values | undefined {
    const rss = this.#gauge(ENGINE_RSS, period);
    if (rss === null) return undefined;
    const { calls, errors } = this.#calls(period);
    const durations = this.#durations(period);
    const percentile = (percent: number): number | null =>
      durations === undefined ? null : percentileOf(durations, DURATION_LAYOUT, percent);
    return {
      calls_per_second: (calls * 1_000) / SAMPLES.stepMs,
      errors_per_second: (errors * 1_000) / SAMPLES.stepMs,
      p50_ms: percentile(50),
      p95_ms: percentile(95),
      p99_ms: percentile(99),
      calls_in_flight: this.#gauge(CALLS_IN_FLIGHT, period),
      functions: this.#gauge(FUNCTIONS, period),
      triggers: this.#gauge(TRIGGERS, period),
      workers: this.#gauge(WORKERS, period),
      streams: this.#gauge(STREAMS, period),
      connections: this.#gauge(ENGINE_CONNECTIONS, period),
      cpu_percent: this.#gauge(ENGINE_CPU, period),
      rss_bytes: rss,
      heap_used_bytes: this.#gauge(ENGINE_HEAP, period),
      event_loop_lag_ms: this.#gauge(ENGINE_LAG, period),
    };
  }

  #gauge({ name }: MetricInfo, period: number): number | null {
    for (const series of this.#store.of(name)) {
      const counts = series instanceof NumberSeries ? series.level(0).at(period) : undefined;
      if (counts !== undefined) return counts.sum / counts.count;
    }
    return null;
  }

  #calls(period: number): { readonly calls: number; readonly errors: number } {
    let calls = 0;
    let errors = 0;
    for (const series of this.#store.of(CALLS.name)) {
      const sum = series instanceof NumberSeries ? (series.level(0).at(period)?.sum ?? 0) : 0;
      calls += sum;
      if (series.labels.outcome !== "ok") errors += sum;
    }
    return { calls, errors };
  }

  #durations(period: number): HistogramCounts | undefined {
    let counts: HistogramCounts | undefined;
    for (const series of this.#store.of(CALL_DURATION.name)) {
      const here = series instanceof HistogramSeries ? series.level(0).at(period) : undefined;
      if (here !== undefined) counts = counts === undefined ? here : mergeHistograms(counts, here);
    }
    return counts;
  }
}
