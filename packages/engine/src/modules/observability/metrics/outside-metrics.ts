import type { Attributes } from "../../../kernel/telemetry-contract.ts";
import type { DropCounter, MetricPoint, MetricRecord, MetricSink } from "../model.ts";
import { explicitLayout, type HistogramCounts } from "./histogram.ts";
import { labelsOf } from "./labels.ts";
import type { HistogramSeries, MetricInfo, NumberSeries, Origin } from "./series.ts";
import type { SeriesStore } from "./series-store.ts";
import type { WorkerFigures } from "./sources/worker-figures.ts";

/** Of a name, a unit and a description from outside. */
const MAX_NAME_LENGTH = 256;
const MAX_UNIT_LENGTH = 63;
const MAX_DESCRIPTION_LENGTH = 1_024;
/** Buckets of a histogram; one with more is dropped. */
const MAX_BUCKETS = 512;
/** Counts are kept in 32 bits. */
const MAX_COUNT = 0xffff_ffff;
/** Names of gauges of worker processes. As ordinary series of a restricted sender they could carry the labels of another worker. */
const WORKER_GAUGE = /^(?:svc|iii)\.worker\./;
/** Names that only the engine fills; what comes from outside under them is no worker's to say. */
const OWN = /^svc\.(calls|call|engine|workers|module|telemetry|queue|stream|state|event|cron|http)(\.|$)/;

type HistogramValue = Extract<MetricPoint["value"], { readonly type: "histogram" }>;

/** How a point was told. */
interface Telling {
  readonly origin: Origin;
  readonly isDelta: boolean;
  readonly point: MetricPoint;
}

interface Parts {
  readonly store: SeriesStore;
  readonly workers: Pick<WorkerFigures, "told">;
  readonly drops: DropCounter;
}

/** Takes metrics that workers and other programs send, cumulative ones as increases. Times are those of arrival: theirs may be anything. */
export class OutsideMetrics implements MetricSink {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  add(metric: MetricRecord): void {
    const { name, type, resource } = metric;
    if (name === "" || name.length > MAX_NAME_LENGTH || OWN.test(name)) {
      this.#parts.drops.dropped("metrics", "bad_name", metric.points.length);
      return;
    }
    const info: MetricInfo = { name, type, unit: metric.unit.slice(0, MAX_UNIT_LENGTH), description: metric.description.slice(0, MAX_DESCRIPTION_LENGTH) };
    const origin: Origin = { service: resource.service, workerId: resource.workerId, scopeName: metric.scopeName };
    const isDelta = metric.temporality === "delta";
    for (const point of metric.points) {
      const { attributes, value } = point;
      if (value.type === "number" && this.#isOfWorker(name, value.value, attributes, resource.workerId)) continue;
      if (resource.restrictedTo !== undefined && WORKER_GAUGE.test(name)) {
        this.#parts.drops.dropped("metrics", "bad_name", 1);
        continue;
      }
      const how: Telling = { origin, isDelta, point };
      if (value.type === "number" && type !== "histogram") this.#number(info, value.value, how);
      else if (value.type === "histogram" && type === "histogram") this.#histogram(info, value, how);
      else this.#parts.drops.dropped("metrics", "bad_point", 1);
    }
  }

  /** A gauge of a worker's process: only the worker itself may tell it, as far as who sends it is known by connection or address. */
  #isOfWorker(name: string, value: number, attributes: Attributes, sender: string | undefined): boolean {
    const named = attributes["worker.id"];
    if (sender === undefined || (typeof named === "string" && named !== sender)) return false;
    return this.#parts.workers.told(name, value, sender);
  }

  #number(info: MetricInfo, value: number, { origin, isDelta, point }: Telling): void {
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

  #histogram(info: MetricInfo, value: HistogramValue, { origin, isDelta, point }: Telling): void {
    const { store, drops } = this.#parts;
    const labels = labelsOf(point.attributes);
    const counts = countsOf(value);
    if (labels === undefined || counts === undefined) {
      drops.dropped("metrics", labels === undefined ? "bad_attributes" : "bad_point", 1);
      return;
    }
    const series = store.histogram(info, labels, explicitLayout(value.bounds), origin);
    if (series === undefined) return;
    const more = isDelta ? counts : moreOf(series, counts, point);
    if (more.count > 0 && !series.add(store.timeLine.now(), more)) drops.dropped("metrics", "histogram_bytes", 1);
  }
}

/** What a cumulative counter counted since it was told last. */
function increaseOf(series: NumberSeries, value: number, point: MetricPoint): number {
  const before = isStartedAgain(series, point) ? undefined : series.cumulative;
  series.cumulative = value;
  return Math.max(0, before === undefined || value < before ? value : value - before);
}

function moreOf(series: HistogramSeries, counts: HistogramCounts, point: MetricPoint): HistogramCounts {
  const before = isStartedAgain(series, point) ? undefined : series.cumulative;
  series.cumulative = counts;
  return before === undefined || counts.count < before.count ? counts : between(before, counts);
}

/**
 * Whether a cumulative point counts from nothing again, as its sender says by a later start. One that is less than before does in any case, without a start.
 * A start that is the very time of the point says nothing: some tell it with every point. Nor does an earlier one: two senders of one name tell by turns.
 */
function isStartedAgain(series: NumberSeries | HistogramSeries, { startUnixNano: start, timeUnixNano }: MetricPoint): boolean {
  const { countedSince } = series;
  if (start === undefined || (countedSince !== undefined && start <= countedSince)) return false;
  series.countedSince = start;
  return countedSince !== undefined && start < timeUnixNano;
}

function countsOf({ bounds, bucketCounts, sum, max }: HistogramValue): HistogramCounts | undefined {
  if (bucketCounts.length !== bounds.length + 1 || bucketCounts.length > MAX_BUCKETS || !Number.isFinite(sum)) return undefined;
  if (bounds.some((bound, index) => !Number.isFinite(bound) || (index > 0 && bound <= (bounds[index - 1] as number)))) return undefined;
  if (bucketCounts.some((count) => !Number.isInteger(count) || count < 0 || count > MAX_COUNT)) return undefined;
  const buckets = Uint32Array.from(bucketCounts);
  // Of the buckets, so that percentiles and counts agree.
  return { count: bucketCounts.reduce((total, count) => total + count, 0), sum, first: 0, buckets, max: Number.isFinite(max) ? max : undefined };
}

function between(before: HistogramCounts, after: HistogramCounts): HistogramCounts {
  const buckets = after.buckets.map((count, index) => Math.max(0, count - (before.buckets[index] ?? 0)));
  return { count: buckets.reduce((total, count) => total + count, 0), sum: after.sum - before.sum, first: 0, buckets };
}
