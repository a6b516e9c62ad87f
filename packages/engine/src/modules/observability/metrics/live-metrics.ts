import type { Streams, SystemStream } from "../../../kernel/stream-contract.ts";
import { type HistogramCounts, percentileOf, together } from "./histogram.ts";
import { levelAt, periodOf, SAMPLES } from "./levels.ts";
import { CALL_DURATION, CALLS, CALLS_IN_FLIGHT, ENGINE_CONNECTIONS, ENGINE_CPU, ENGINE_HEAP, ENGINE_LAG, ENGINE_RSS, WORKERS } from "./names.ts";
import { HistogramSeries, type MetricInfo, NumberSeries } from "./series.ts";
import type { SeriesStore } from "./series-store.ts";
import { DURATION_LAYOUT } from "./sources/call-figures.ts";

/** What the dashboard shows of 5 s. Null: nobody looked then. */
interface MetricsSample {
  /** Begin of the 5 s, in milliseconds since 1970. */
  readonly at_ms: number;
  readonly calls_per_second: number;
  readonly errors_per_second: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  readonly p99_ms: number | null;
  readonly calls_in_flight: number | null;
  readonly workers: number | null;
  readonly connections: number | null;
  readonly cpu_percent: number | null;
  readonly rss_bytes: number | null;
  readonly heap_used_bytes: number | null;
  readonly event_loop_lag_ms: number | null;
}

/** The stream `svc.metrics`: who joins gets the samples of 15 min, then each one as it is taken, as an event of type `sample`. */
export class LiveMetrics {
  readonly #store: SeriesStore;
  readonly #stream: SystemStream;

  constructor(store: SeriesStore, streams: Pick<Streams, "provideSystemStream">) {
    this.#store = store;
    this.#stream = streams.provideSystemStream({
      name: "svc.metrics",
      summary: "The engine's main figures, each 5 s; of the last 15 min on joining",
      snapshot: (id) => JSON.stringify(id === undefined ? this.#history() : (this.#history().find(({ at_ms }) => String(at_ms) === id) ?? null)),
    });
  }

  /** A sample is complete. */
  sampled(at: number): void {
    if (this.#stream.subscribers === 0) return;
    const period = periodOf(at, SAMPLES);
    const data = this.#samples(period, period)[0];
    this.#stream.publish({ id: null, type: "event", json: JSON.stringify({ type: "sample", data }) });
  }

  #history(): readonly MetricsSample[] {
    // The period that is not over has no sample yet.
    const last = periodOf(this.#store.timeLine.now(), SAMPLES) - 1;
    return this.#samples(last - levelAt(0).periods + 2, last);
  }

  #samples(first: number, last: number): MetricsSample[] {
    const samples: MetricsSample[] = [];
    for (let period = first; period <= last; period++) {
      const rss = this.#gauge(ENGINE_RSS, period);
      // The engine was not there, or slept.
      if (rss === null) continue;
      const calls = this.#increase(period, () => true);
      const errors = this.#increase(period, (outcome) => outcome !== "ok");
      const durations = this.#durations(period);
      const percentile = (percent: number): number | null => (durations === undefined ? null : percentileOf(durations, DURATION_LAYOUT, percent));
      samples.push({
        at_ms: this.#store.timeLine.shown(period * SAMPLES.stepMs),
        calls_per_second: (calls * 1_000) / SAMPLES.stepMs,
        errors_per_second: (errors * 1_000) / SAMPLES.stepMs,
        p50_ms: percentile(50),
        p95_ms: percentile(95),
        p99_ms: percentile(99),
        calls_in_flight: this.#gauge(CALLS_IN_FLIGHT, period),
        workers: this.#gauge(WORKERS, period),
        connections: this.#gauge(ENGINE_CONNECTIONS, period),
        cpu_percent: this.#gauge(ENGINE_CPU, period),
        rss_bytes: rss,
        heap_used_bytes: this.#gauge(ENGINE_HEAP, period),
        event_loop_lag_ms: this.#gauge(ENGINE_LAG, period),
      });
    }
    return samples;
  }

  #gauge({ name }: MetricInfo, period: number): number | null {
    for (const series of this.#store.of(name)) {
      const counts = series instanceof NumberSeries ? series.level(0).at(period) : undefined;
      if (counts !== undefined) return counts.sum / counts.count;
    }
    return null;
  }

  #increase(period: number, counts: (outcome: string | undefined) => boolean): number {
    let sum = 0;
    for (const series of this.#store.of(CALLS.name)) {
      if (series instanceof NumberSeries && counts(series.labels.outcome)) sum += series.level(0).at(period)?.sum ?? 0;
    }
    return sum;
  }

  #durations(period: number): HistogramCounts | undefined {
    let counts: HistogramCounts | undefined;
    for (const series of this.#store.of(CALL_DURATION.name)) {
      const here = series instanceof HistogramSeries ? series.level(0).at(period) : undefined;
      if (here !== undefined) counts = counts === undefined ? here : together(counts, here);
    }
    return counts;
  }
}
