import type { z } from "zod";
import { type HistogramCounts, maxOf, mergeHistograms, percentileOf } from "../histogram.ts";
import { hasLabels } from "../labels.ts";
import { mergeNumbers, type NumberCounts } from "../number-ring.ts";
import { levelAt } from "../rollup-levels.ts";
import { type HistogramSeries, NumberSeries, type Series } from "../series.ts";
import type { SeriesStore } from "../series-store.ts";
import { periodsOf } from "../window.ts";
import type { seriesInput } from "./inputs.ts";

/** Maximum number of series in a result. */
const MAX_SERIES = 1_000;
/** Maximum number of points of each series. */
const MAX_POINTS = 2_000;
const DEFAULT_RANGE_MS = 900_000;

type Input = z.output<ReturnType<typeof seriesInput>>;
type Aggregate = NonNullable<Input["aggregate"]>;
type Point = readonly [ms: number, value: number | null];

/** Periods of a level, grouped into steps. */
interface Steps {
  readonly level: 0 | 1 | 2 | 3;
  readonly first: number;
  readonly last: number;
  readonly periodMs: number;
  readonly stepMs: number;
}

export function querySeries(input: Input, store: SeriesStore, sees: (series: Series) => boolean) {
  const now = store.timeLine.now();
  const to = input.end_time == null ? now : Math.min(now, store.timeLine.stored(input.end_time));
  const from = input.start_time == null ? to - DEFAULT_RANGE_MS : store.timeLine.stored(input.start_time);
  const steps = stepsOf({ from, to }, input.step_seconds * 1_000, now);
  const found: unknown[] = [];
  let isTruncated = false;
  for (const name of input.names ?? store.names()) {
    for (const series of store.of(name)) {
      if (!hasLabels(series.labels, input.labels ?? {}) || !sees(series)) continue;
      if (found.length >= MAX_SERIES) {
        isTruncated = true;
        break;
      }
      const { info, labels, origin } = series;
      const aggregate = input.aggregate ?? defaultOf(series);
      const points = pointsOf(series, { aggregate, steps, now }).map(
        ([at, value]): Point => [store.timeLine.shown(at), value],
      );
      const service =
        origin === undefined
          ? {}
          : { service_name: origin.service, ...(origin.workerId === undefined ? {} : { worker_id: origin.workerId }) };
      found.push({ name, unit: info.unit, type: info.type, labels, ...service, aggregate, points });
    }
  }
  return {
    series: found,
    step_seconds: steps.stepMs / 1_000,
    as_of: store.timeLine.shown(now),
    ...(isTruncated ? { truncated: true } : {}),
  };
}

function stepsOf({ from, to }: { readonly from: number; readonly to: number }, askedMs: number, now: number): Steps {
  const { level, first, last } = periodsOf({ from, to }, now);
  const { stepMs: periodMs } = levelAt(level);
  const span = Math.max(0, last - first + 1) * periodMs;
  const least = Math.max(askedMs, periodMs, span / MAX_POINTS);
  return { level, first, last, periodMs, stepMs: Math.ceil(least / periodMs) * periodMs };
}

function defaultOf({ info }: Series): Aggregate {
  return info.type === "counter" ? "rate" : info.type === "histogram" ? "p95" : "avg";
}

function pointsOf(
  series: Series,
  { aggregate, steps, now }: { readonly aggregate: Aggregate; readonly steps: Steps; readonly now: number },
): Point[] {
  const { first, last, periodMs, stepMs } = steps;
  const points: Point[] = [];
  for (let start = Math.floor((first * periodMs) / stepMs) * stepMs; start <= last * periodMs; start += stepMs) {
    const within = {
      from: Math.max(first, start / periodMs),
      to: Math.min(last, start / periodMs + stepMs / periodMs - 1),
    };
    // In the current step, rates are computed over the elapsed time only.
    const seconds = Math.max(1, (Math.min(now, start + stepMs) - start) / 1_000);
    const value =
      series instanceof NumberSeries
        ? numberAt(series, { ...within, ...steps, aggregate, seconds })
        : histogramAt(series, { ...within, ...steps, aggregate, seconds });
    // A counter that did not grow has the value 0. Other metrics without samples have no value.
    const isZero =
      value === null &&
      series.since < start + stepMs &&
      (aggregate === "rate" || aggregate === "sum") &&
      series.info.type !== "gauge" &&
      series.info.type !== "up_down_counter";
    points.push([start, isZero ? 0 : value]);
  }
  return points;
}

interface Within {
  readonly from: number;
  readonly to: number;
  readonly level: Steps["level"];
  readonly aggregate: Aggregate;
  readonly seconds: number;
}

function numberAt(series: NumberSeries, { from, to, level, aggregate, seconds }: Within): number | null {
  let counts: NumberCounts | undefined;
  const ring = series.level(level);
  for (let period = from; period <= to; period++) counts = mergeNumbers(counts, ring.at(period));
  if (counts === undefined) return null;
  switch (aggregate) {
    case "avg":
      return counts.sum / counts.count;
    case "sum":
      return counts.sum;
    case "max":
      return counts.max;
    case "rate":
      return series.isCounter ? counts.sum / seconds : null;
    // The single numbers within a step are not stored, so percentiles are not available.
    default:
      return null;
  }
}

function histogramAt(series: HistogramSeries, { from, to, level, aggregate, seconds }: Within): number | null {
  let counts: HistogramCounts | undefined;
  const ring = series.level(level);
  for (let period = from; period <= to; period++) {
    const here = ring.at(period);
    if (here !== undefined) counts = counts === undefined ? here : mergeHistograms(counts, here);
  }
  if (counts === undefined || counts.count === 0) return null;
  switch (aggregate) {
    case "avg":
      return counts.sum / counts.count;
    case "sum":
      return counts.sum;
    case "max":
      return maxOf(counts, series.layout);
    case "rate":
      return counts.count / seconds;
    default:
      return percentileOf(counts, series.layout, Number(aggregate.slice(1)));
  }
}
