import { type BucketLayout, bytesOf, type HistogramCounts, NOTHING_COUNTED, together } from "./histogram.ts";
import { type ByteBudget, HistogramRing } from "./histogram-ring.ts";
import type { Labels } from "./labels.ts";
import { type LevelIndex, ROLLUPS, SAMPLES } from "./levels.ts";
import { NumberRing } from "./number-ring.ts";

export type MetricType = "gauge" | "counter" | "up_down_counter" | "histogram";

/** What all series of one name have in common. */
export interface MetricInfo {
  readonly name: string;
  readonly type: MetricType;
  /** UCUM. */
  readonly unit: string;
  readonly description: string;
}

/** Where a series comes from: whoever told it outside the engine, and its scope there; undefined for the engine's own. */
export interface Origin {
  readonly service: string;
  readonly workerId: string | undefined;
  readonly scopeName: string | undefined;
}

interface Identity {
  readonly info: MetricInfo;
  readonly labels: Labels;
  readonly origin: Origin | undefined;
  /** When it began, in stored time. */
  readonly since: number;
}

/** A gauge or a counter over time. Of a counter the samples are its increases. */
export class NumberSeries implements Identity {
  readonly info: MetricInfo;
  readonly labels: Labels;
  readonly origin: Origin | undefined;
  readonly since: number;
  /** When it was last told, in stored time. */
  at: number;
  /** Of a gauge its latest value, of a counter its total since it is known. */
  latest = 0;
  /** What a counter whose totals are told, from outside or by a module, stood at. */
  cumulative: number | undefined;
  /** When its sender says that it began to count that, in Unix nanoseconds; undefined where it does not say. */
  countedSince: bigint | undefined;
  readonly #rings = [SAMPLES, ...ROLLUPS].map((level) => new NumberRing(level));

  constructor({ info, labels, origin, since }: Identity) {
    this.info = info;
    this.labels = labels;
    this.origin = origin;
    this.since = since;
    this.at = since;
  }

  get isCounter(): boolean {
    return this.info.type === "counter";
  }

  set(at: number, value: number): void {
    this.latest = value;
    this.#sample(at, value);
  }

  increase(at: number, by: number): void {
    this.latest += by;
    this.#sample(at, by);
  }

  level(index: LevelIndex): NumberRing {
    return this.#rings[index] as NumberRing;
  }

  dispose(): void {}

  #sample(at: number, value: number): void {
    this.at = at;
    for (const ring of this.#rings) ring.add(at, value);
  }
}

/** A histogram over time, exact in its buckets. */
export class HistogramSeries implements Identity {
  readonly info: MetricInfo;
  readonly labels: Labels;
  readonly origin: Origin | undefined;
  readonly since: number;
  at: number;
  readonly layout: BucketLayout;
  /** Everything since it is known. */
  total: HistogramCounts = NOTHING_COUNTED;
  /** What a cumulative one of outside stood at. */
  cumulative: HistogramCounts | undefined;
  /** As of a counter. */
  countedSince: bigint | undefined;
  readonly #budget: ByteBudget;
  readonly #rings: readonly HistogramRing[];

  constructor({ info, labels, origin, since }: Identity, layout: BucketLayout, budget: ByteBudget) {
    this.info = info;
    this.labels = labels;
    this.origin = origin;
    this.since = since;
    this.at = since;
    this.layout = layout;
    this.#budget = budget;
    this.#rings = [SAMPLES, ...ROLLUPS].map((level) => new HistogramRing(level, budget));
  }

  /** False when there was no room to keep it by time; the total has it then all the same. */
  add(at: number, counts: HistogramCounts): boolean {
    this.at = at;
    const before = bytesOf(this.total);
    this.total = together(this.total, counts);
    this.#budget.take(bytesOf(this.total) - before);
    let isKept = true;
    for (const ring of this.#rings) isKept = ring.add(at, counts) && isKept;
    return isKept;
  }

  level(index: LevelIndex): HistogramRing {
    return this.#rings[index] as HistogramRing;
  }

  dispose(): void {
    for (const ring of this.#rings) ring.clear();
    this.#budget.take(bytesOf(NOTHING_COUNTED) - bytesOf(this.total));
  }
}

export type Series = NumberSeries | HistogramSeries;
