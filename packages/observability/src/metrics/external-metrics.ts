import type { Attributes } from "@svc-runtime/engine/module";
import type { DropCounter, MetricPoint, MetricRecord, MetricSink } from "../telemetry-records.ts";
import { explicitLayout, type HistogramCounts } from "./histogram.ts";
import { labelsOf } from "./labels.ts";
import type { HistogramSeries, MetricInfo, NumberSeries, Origin } from "./series.ts";
import type { SeriesStore } from "./series-store.ts";
import type { WorkerCollector } from "./sources/worker-collector.ts";

const MAX_NAME_LENGTH = 256;
const MAX_UNIT_LENGTH = 63;
const MAX_DESCRIPTION_LENGTH = 1_024;
/** Maximum number of histogram buckets. A histogram with more is dropped. */
const MAX_BUCKETS = 512;
/** Maximum count, because counts are stored in 32 bits. */
const MAX_COUNT = 0xffff_ffff;
/**
 * Names of gauges of worker processes. They are handled separately, because as ordinary series a restricted sender
 * could set another worker's labels on them.
 */
const WORKER_GAUGE = /^(?:svc|iii)\.worker\./;
/** Names that only the engine may use. External metrics with these names are dropped. */
const RESERVED_NAMES = /^svc\.(calls|call|engine|workers|module|telemetry|queue|stream|state|event|cron|http)(\.|$)/;

type HistogramValue = Extract<MetricPoint["value"], { readonly type: "histogram" }>;

interface ReceivedPoint {
  readonly origin: Origin;
  readonly isDelta: boolean;
  readonly point: MetricPoint;
}

interface Parts {
  readonly store: SeriesStore;
  readonly workers: Pick<WorkerCollector, "receive">;
  readonly drops: DropCounter;
}

/**
 * Takes metrics that workers and other programs send, and converts cumulative values to increases. It uses the time of
 * arrival, because the clocks of senders cannot be trusted.
 */
export class ExternalMetrics implements MetricSink {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  add(metric: MetricRecord): void {
    const { name, type, resource } = metric;
    if (name === "" || name.length > MAX_NAME_LENGTH || RESERVED_NAMES.test(name)) {
      this.#parts.drops.dropped("metrics", "bad_name", metric.points.length);
      return;
    }
    const info: MetricInfo = {
      name,
      type,
      unit: metric.unit.slice(0, MAX_UNIT_LENGTH),
      description: metric.description.slice(0, MAX_DESCRIPTION_LENGTH),
    };
    const origin: Origin = { service: resource.service, workerId: resource.workerId, scopeName: metric.scopeName };
    const isDelta = metric.temporality === "delta";
    for (const point of metric.points) {
      const { attributes, value } = point;
      if (value.type === "number" && this.#isOfWorker(name, value.value, attributes, resource.workerId)) continue;
      if (resource.restrictedTo !== undefined && WORKER_GAUGE.test(name)) {
        this.#parts.drops.dropped("metrics", "bad_name", 1);
        continue;
      }
      const how: ReceivedPoint = { origin, isDelta, point };
      if (value.type === "number" && type !== "histogram") this.#number(info, value.value, how);
      else if (value.type === "histogram" && type === "histogram") this.#histogram(info, value, how);
      else this.#parts.drops.dropped("metrics", "bad_point", 1);
    }
  }

  /** Records a gauge of a worker's process. Returns false if the sender is not that worker. */
  #isOfWorker(name: string, value: number, attributes: Attributes, sender: string | undefined): boolean {
    const named = attributes["worker.id"];
    if (sender === undefined || (typeof named === "string" && named !== sender)) return false;
    return this.#parts.workers.receive(name, value, sender);
  }

  #number(info: MetricInfo, value: number, { origin, isDelta, point }: ReceivedPoint): void {
    if (!Number.isFinite(value)) {
      this.#parts.drops.dropped("metrics", "not_finite", 1);
      return;
    }
    const labels = labelsOf(point.attributes);
    if (labels === undefined) {
      this.#parts.drops.dropped("metrics", "bad_attributes", 1);
      return;
    }
    const series = this.#parts.store.number(info, labels, origin);
    if (series === undefined) return;
    const at = this.#parts.store.timeLine.now();
    if (info.type === "counter") series.increase(at, isDelta ? Math.max(0, value) : increaseOf(series, value, point));
    else series.set(at, info.type === "up_down_counter" && isDelta ? series.latest + value : value);
  }

  #histogram(info: MetricInfo, value: HistogramValue, { origin, isDelta, point }: ReceivedPoint): void {
    const { store, drops } = this.#parts;
    const labels = labelsOf(point.attributes);
    const counts = countsOf(value);
    if (labels === undefined || counts === undefined) {
      drops.dropped("metrics", labels === undefined ? "bad_attributes" : "bad_point", 1);
      return;
    }
    const series = store.histogram(info, labels, explicitLayout(value.bounds), origin);
    if (series === undefined) return;
    const more = isDelta ? counts : countsSinceLast(series, counts, point);
    if (more.count > 0 && !series.add(store.timeLine.now(), more)) drops.dropped("metrics", "histogram_bytes", 1);
  }
}

/** Returns the increase of a cumulative counter since its last point. */
function increaseOf(series: NumberSeries, value: number, point: MetricPoint): number {
  const before = hasRestarted(series, point) ? undefined : series.cumulative;
  series.cumulative = value;
  return Math.max(0, before === undefined || value < before ? value : value - before);
}

function countsSinceLast(series: HistogramSeries, counts: HistogramCounts, point: MetricPoint): HistogramCounts {
  const before = hasRestarted(series, point) ? undefined : series.cumulative;
  series.cumulative = counts;
  return before === undefined || counts.count < before.count ? counts : between(before, counts);
}

/**
 * Returns true if the point's start time is later than before, which means that the sender counts from zero again. (A
 * smaller value also means that; the caller checks it.) Two kinds of start times are ignored: one that equals the time
 * of the point, because some senders set it on every point; and an earlier one, because two senders may share a name
 * and send alternately.
 */
function hasRestarted(
  series: NumberSeries | HistogramSeries,
  { startUnixNano: start, timeUnixNano }: MetricPoint,
): boolean {
  const { countedSince } = series;
  if (start === undefined || (countedSince !== undefined && start <= countedSince)) return false;
  series.countedSince = start;
  return countedSince !== undefined && start < timeUnixNano;
}

function countsOf({ bounds, bucketCounts, sum, max }: HistogramValue): HistogramCounts | undefined {
  if (bucketCounts.length !== bounds.length + 1 || bucketCounts.length > MAX_BUCKETS || !Number.isFinite(sum))
    return undefined;
  if (bounds.some((bound, index) => !Number.isFinite(bound) || (index > 0 && bound <= (bounds[index - 1] as number))))
    return undefined;
  if (bucketCounts.some((count) => !Number.isInteger(count) || count < 0 || count > MAX_COUNT)) return undefined;
  const buckets = Uint32Array.from(bucketCounts);
  // Uses the sum of the buckets instead of the sent count, so that percentiles and the count agree.
  return {
    count: bucketCounts.reduce((total, count) => total + count, 0),
    sum,
    first: 0,
    buckets,
    max: Number.isFinite(max) ? max : undefined,
  };
}

function between(before: HistogramCounts, after: HistogramCounts): HistogramCounts {
  const buckets = after.buckets.map((count, index) => Math.max(0, count - (before.buckets[index] ?? 0)));
  return { count: buckets.reduce((total, count) => total + count, 0), sum: after.sum - before.sum, first: 0, buckets };
}
