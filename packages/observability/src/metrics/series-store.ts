import type { DropCounter } from "../telemetry-records.ts";
import { EvictedTotals } from "./evicted-totals.ts";
import type { BucketLayout } from "./histogram.ts";
import type { ByteBudget } from "./histogram-ring.ts";
import { type Labels, labelsKey } from "./labels.ts";
import { HistogramSeries, type MetricInfo, NumberSeries, type Origin, type Series } from "./series.ts";
import type { TimeLine } from "./time-line.ts";

/** Maximum size of all histograms together, in bytes. Beyond it, only totals are updated. */
const MAX_HISTOGRAM_BYTES = 32 * 1024 * 1024;
/** Maximum share of external series. The rest is reserved for the engine's own metrics, because alerts need them. */
const EXTERNAL_SHARE = 0.75;
/**
 * After this time, in milliseconds, an inactive series of the engine has no data left in any rollup, so it is removed.
 */
const FORGOTTEN_MS = 7 * 24 * 3_600_000;

export interface StoreLimits {
  /**
   * Maximum number of series. New series beyond it are dropped and counted. A quarter is reserved for the engine's own
   * series.
   */
  readonly maxSeries: number;
  /** Time in milliseconds after which an inactive series is removed, if it is external or belongs to one worker. */
  readonly retentionMs: number;
}

export class SeriesStore {
  readonly timeLine: TimeLine;
  readonly #limits: () => StoreLimits;
  readonly #drops: DropCounter;
  readonly #byName = new Map<string, { readonly info: MetricInfo; readonly series: Map<string, Series> }>();
  readonly #forgotten = new EvictedTotals();
  #size = 0;
  #external = 0;
  #histogramBytes = 0;
  readonly #budget: ByteBudget = {
    take: (bytes) => {
      if (bytes > 0 && this.#histogramBytes + bytes > MAX_HISTOGRAM_BYTES) return false;
      this.#histogramBytes += bytes;
      return true;
    },
  };

  constructor(parts: { readonly timeLine: TimeLine; readonly limits: () => StoreLimits; readonly drops: DropCounter }) {
    this.timeLine = parts.timeLine;
    this.#limits = parts.limits;
    this.#drops = parts.drops;
  }

  get size(): number {
    return this.#size;
  }

  get limit(): number {
    return this.#limits().maxSeries;
  }

  names(): readonly string[] {
    return [...this.#byName.keys()].sort();
  }

  infoOf(name: string): MetricInfo | undefined {
    return this.#byName.get(name)?.info;
  }

  of(name: string): Iterable<Series> {
    return this.#byName.get(name)?.series.values() ?? [];
  }

  /**
   * Returns a series. Returns undefined and counts a drop in two cases: there is no room for a new series, or the name
   * is used with another type.
   */
  number(info: MetricInfo, labels: Labels, origin?: Origin): NumberSeries | undefined {
    const found = this.#find(info, labels, origin, (identity) => new NumberSeries(identity));
    return found instanceof NumberSeries ? found : undefined;
  }

  /** Like `number`, for histograms. If the bucket bounds have changed, the series begins again. */
  histogram(info: MetricInfo, labels: Labels, layout: BucketLayout, origin?: Origin): HistogramSeries | undefined {
    const make = (identity: ConstructorParameters<typeof HistogramSeries>[0]): HistogramSeries =>
      new HistogramSeries(identity, layout, this.#budget);
    const found = this.#find(info, labels, origin, make);
    if (!(found instanceof HistogramSeries) || found.layout.key === layout.key)
      return found instanceof HistogramSeries ? found : undefined;
    this.remove(found);
    return this.histogram(info, labels, layout, origin);
  }

  remove(series: Series): void {
    const { name } = series.info;
    const group = this.#byName.get(name);
    if (group?.series.delete(keyOf(series.labels, series.origin)) !== true) return;
    this.#size--;
    if (series.origin !== undefined) this.#external--;
    series.dispose();
    if (group.series.size === 0) this.#byName.delete(name);
  }

  /** Removes inactive series. */
  sweep(): void {
    const now = this.timeLine.now();
    const { retentionMs } = this.#limits();
    for (const { series } of [...this.#byName.values()]) {
      for (const one of [...series.values()]) {
        const isPassing = one.origin !== undefined || Object.hasOwn(one.labels, "worker_id");
        if (now - one.at <= (isPassing ? retentionMs : FORGOTTEN_MS)) continue;
        this.#forgotten.remember(forgottenKeyOf(one), one);
        this.remove(one);
      }
    }
  }

  #find(
    info: MetricInfo,
    labels: Labels,
    origin: Origin | undefined,
    make: (identity: ConstructorParameters<typeof NumberSeries>[0]) => Series,
  ): Series | undefined {
    let group = this.#byName.get(info.name);
    if (group !== undefined && group.info.type !== info.type) {
      this.#drops.dropped("metrics", "type_conflict", 1);
      return undefined;
    }
    const key = keyOf(labels, origin);
    const known = group?.series.get(key);
    if (known !== undefined) return known;
    if (
      this.#size >= this.limit ||
      (origin !== undefined && this.#external >= Math.floor(this.limit * EXTERNAL_SHARE))
    ) {
      this.#drops.dropped("metrics", "series_limit", 1);
      return undefined;
    }
    if (group === undefined) {
      group = { info, series: new Map() };
      this.#byName.set(info.name, group);
    }
    const made = make({ info: group.info, labels, origin, since: this.timeLine.now() });
    this.#forgotten.restore(forgottenKeyOf(made), made);
    group.series.set(key, made);
    this.#size++;
    if (origin !== undefined) this.#external++;
    return made;
  }
}

function forgottenKeyOf({ info, labels, origin }: Series): string {
  return `${info.name} ${info.type} ${keyOf(labels, origin)}`;
}

function keyOf(labels: Labels, origin: Origin | undefined): string {
  const own = labelsKey(labels);
  return origin === undefined ? own : `${own} ${JSON.stringify([origin.service, origin.workerId ?? null])}`;
}
