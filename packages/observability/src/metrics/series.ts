import { type BucketLayout, bytesOf, type HistogramCounts, mergeHistograms, NOTHING_COUNTED } from "./histogram.ts";
import { type ByteBudget, HistogramRing } from "./histogram-ring.ts";
import type { Labels } from "./labels.ts";
import { NumberRing } from "./number-ring.ts";
import { type LevelIndex, ROLLUPS, SAMPLES } from "./rollup-levels.ts";

export type MetricType = "gauge" | "counter" | "up_down_counter" | "histogram";

export interface MetricInfo {
  readonly name: string;
  readonly type: MetricType;
  /** Unit as a UCUM code. */
  readonly unit: string;
  readonly description: string;
}

/** The external sender of a series, with its instrumentation scope. Undefined for the engine's own series. */
export interface Origin {
  readonly service: string;
  readonly workerId: string | undefined;
  readonly scopeName: string | undefined;
}

interface Identity {
  readonly info: MetricInfo;
  readonly labels: Labels;
  readonly origin: Origin | undefined;
  /** Time when the series began, on the axis of stored time (see `TimeLine`). */
  readonly since: number;
}

/** A gauge or counter over time. For a counter, each sample is its increase since the sample before. */
export class NumberSeries implements Identity {
  readonly info: MetricInfo;
  readonly labels: Labels;
  readonly origin: Origin | undefined;
  readonly since: number;
  /** Time of the last value, on the axis of stored time. */
  at: number;
  /** Latest value of a gauge; total of a counter since its start. */
  latest = 0;
  /** Last cumulative value. It is set for counters whose sender or module reports totals instead of increases. */
  cumulative: number | undefined;
  /**
   * Time since which `cumulative` was counted, according to the sender, in Unix nanoseconds. Undefined if the sender
   * does not send it.
   */
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

export class HistogramSeries implements Identity {
  readonly info: MetricInfo;
  readonly labels: Labels;
  readonly origin: Origin | undefined;
  readonly since: number;
  at: number;
  readonly layout: BucketLayout;
  total: HistogramCounts = NOTHING_COUNTED;
  cumulative: HistogramCounts | undefined;
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

  /** Adds counts. Returns false if there was no room for the counts by period. The total is updated in any case. */
  add(at: number, counts: HistogramCounts): boolean {
    this.at = at;
    const before = bytesOf(this.total);
    this.total = mergeHistograms(this.total, counts);
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
