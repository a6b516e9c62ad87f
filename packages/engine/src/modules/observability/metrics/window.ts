import { type HistogramCounts, together } from "./histogram.ts";
import { type LevelIndex, levelAt, levelFor } from "./levels.ts";
import { type NumberCounts, numbersTogether } from "./number-ring.ts";
import type { HistogramSeries, NumberSeries } from "./series.ts";

/** A stretch of stored time, in milliseconds. */
export interface Window {
  readonly from: number;
  readonly to: number;
  /** It begins with the period in which `from` lies, so that nothing of it is left out. Default: with the nearest one. */
  readonly isWhole?: boolean;
}

interface Periods {
  readonly level: LevelIndex;
  readonly first: number;
  readonly last: number;
}

/** The window in periods of the finest level that reaches back so far. */
export function periodsOf({ from, to, isWhole = false }: Window, now: number): Periods {
  const rounded = isWhole ? Math.floor : Math.round;
  const level = levelFor(from, now, rounded);
  const { stepMs, periods } = levelAt(level);
  const latest = Math.floor(Math.min(to, now) / stepMs);
  return { level, first: Math.max(rounded(from / stepMs), latest - periods + 1), last: latest };
}

/** Undefined when nothing was sampled. */
export function numbersIn(series: NumberSeries, window: Window, now: number): NumberCounts | undefined {
  const { level, first, last } = periodsOf(window, now);
  const ring = series.level(level);
  let counts: NumberCounts | undefined;
  for (let period = first; period <= last; period++) counts = numbersTogether(counts, ring.at(period));
  return counts;
}

/** Undefined when nothing was counted. */
export function histogramIn(series: HistogramSeries, window: Window, now: number): HistogramCounts | undefined {
  const { level, first, last } = periodsOf(window, now);
  const ring = series.level(level);
  let counts: HistogramCounts | undefined;
  for (let period = first; period <= last; period++) {
    const here = ring.at(period);
    if (here !== undefined) counts = counts === undefined ? here : together(counts, here);
  }
  return counts;
}
