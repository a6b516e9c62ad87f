import { type HistogramCounts, mergeHistograms } from "./histogram.ts";
import { mergeNumbers, type NumberCounts } from "./number-ring.ts";
import { type LevelIndex, levelAt, levelFor } from "./rollup-levels.ts";
import type { HistogramSeries, NumberSeries } from "./series.ts";

/** A range of stored time, in milliseconds. */
export interface Window {
  readonly from: number;
  readonly to: number;
  /** True if the window begins with the period that contains `from`. By default, it begins with the nearest period. */
  readonly isWhole?: boolean;
}

interface Periods {
  readonly level: LevelIndex;
  readonly first: number;
  readonly last: number;
}

/** Returns the periods of the window. Uses the finest level that reaches back far enough. */
export function periodsOf({ from, to, isWhole = false }: Window, now: number): Periods {
  const rounded = isWhole ? Math.floor : Math.round;
  const level = levelFor(from, now, rounded);
  const { stepMs, periods } = levelAt(level);
  const latest = Math.floor(Math.min(to, now) / stepMs);
  return { level, first: Math.max(rounded(from / stepMs), latest - periods + 1), last: latest };
}

export function numbersIn(series: NumberSeries, window: Window, now: number): NumberCounts | undefined {
  const { level, first, last } = periodsOf(window, now);
  const ring = series.level(level);
  let counts: NumberCounts | undefined;
  for (let period = first; period <= last; period++) counts = mergeNumbers(counts, ring.at(period));
  return counts;
}

export function histogramIn(series: HistogramSeries, window: Window, now: number): HistogramCounts | undefined {
  const { level, first, last } = periodsOf(window, now);
  const ring = series.level(level);
  let counts: HistogramCounts | undefined;
  for (let period = first; period <= last; period++) {
    const here = ring.at(period);
    if (here !== undefined) counts = counts === undefined ? here : mergeHistograms(counts, here);
  }
  return counts;
}
