import { bytesOf, type HistogramCounts } from "./histogram.ts";
import { HistogramSeries, type Series } from "./series.ts";

/** What is remembered of series that were forgotten, in bytes, about. */
const MAX_BYTES = 4 * 1024 * 1024;
const ENTRY_BYTES = 300;

type Total = ({ readonly number: number } | { readonly counts: HistogramCounts; readonly layoutKey: string }) & {
  /** As the series had it: a sender that was started again meanwhile is known by it. */
  readonly countedSince: bigint | undefined;
};

/**
 * What counters stood at when their series were forgotten for silence. One that comes back goes on from there: else all that it ever counted would look
 * like the increase of one moment. Bounded; the earliest give way.
 */
export class ForgottenTotals {
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

  /** Gives a series that begins what it stood at before, if that is known. */
  restore(key: string, series: Series): void {
    const total = this.#totals.get(key);
    if (total === undefined) return;
    this.#forget(key);
    series.countedSince = total.countedSince;
    if (!(series instanceof HistogramSeries)) series.cumulative = "number" in total ? total.number : undefined;
    // Buckets that lie elsewhere now cannot be compared.
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
