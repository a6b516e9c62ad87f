import { bytesOf, type HistogramCounts } from "./histogram.ts";
import { HistogramSeries, type Series } from "./series.ts";

/** Approximate maximum size of the remembered totals, in bytes. */
const MAX_BYTES = 4 * 1024 * 1024;
const ENTRY_BYTES = 300;

type Total = ({ readonly number: number } | { readonly counts: HistogramCounts; readonly layoutKey: string }) & {
  /** Start time of the series according to its sender. A later one shows that the sender restarted. */
  readonly countedSince: bigint | undefined;
};

/**
 * Last totals of counters whose series were evicted for inactivity. If such a counter sends values again, its increase
 * is counted from this total. Otherwise its whole total would be counted as a sudden increase. The size is limited; the
 * oldest totals are evicted first.
 */
export class EvictedTotals {
  readonly #totals = new Map<string, Total>();
  #bytes = 0;

  remember(key: string, series: Series): void {
    const { cumulative, countedSince } = series;
    if (cumulative === undefined) return;
    this.#forget(key);
    const total: Total =
      series instanceof HistogramSeries
        ? { counts: cumulative as HistogramCounts, layoutKey: series.layout.key, countedSince }
        : { number: cumulative as number, countedSince };
    this.#totals.set(key, total);
    this.#bytes += sizeOf(key, total);
    for (const earliest of this.#totals.keys()) {
      if (this.#bytes <= MAX_BYTES) break;
      this.#forget(earliest);
    }
  }

  /** Sets the total of a new series, if the series existed before and its total is remembered. */
  restore(key: string, series: Series): void {
    const total = this.#totals.get(key);
    if (total === undefined) return;
    this.#forget(key);
    series.countedSince = total.countedSince;
    if (!(series instanceof HistogramSeries)) series.cumulative = "number" in total ? total.number : undefined;
    // Counts with different bucket bounds cannot be compared.
    else if ("counts" in total && total.layoutKey === series.layout.key) series.cumulative = total.counts;
  }

  #forget(key: string): void {
    const total = this.#totals.get(key);
    if (total === undefined) return;
    this.#totals.delete(key);
    this.#bytes -= sizeOf(key, total);
  }
}

function sizeOf(key: string, total: Total): number {
  return ENTRY_BYTES + 2 * key.length + ("counts" in total ? bytesOf(total.counts) + 2 * total.layoutKey.length : 0);
}
