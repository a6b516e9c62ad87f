import type { CallStats } from "../../calls/call-stats.ts";
import type { WorkerCounts } from "../../calls/worker-counts.ts";
import { CALLS_DEFERRED, CALLS_REFUSED, WORKER_DEATHS, WORKER_SPAWNS } from "../builtin-metrics.ts";
import type { SeriesStore } from "../series-store.ts";

/**
 * Samples counters of the specification that no other source provides, so that alerts can compare them within a window.
 */
export class BuiltinCounters {
  readonly #parts: {
    readonly store: SeriesStore;
    readonly stats: Pick<CallStats, "deferred" | "refused">;
    readonly workers: Pick<WorkerCounts, "spawns" | "deaths">;
  };
  readonly #refused = new Map<string, number>();
  #known = { deferred: 0, spawns: 0, deaths: 0 };

  constructor(parts: {
    readonly store: SeriesStore;
    readonly stats: Pick<CallStats, "deferred" | "refused">;
    readonly workers: Pick<WorkerCounts, "spawns" | "deaths">;
  }) {
    this.#parts = parts;
  }

  sample(at: number): void {
    const { store } = this.#parts;
    const now = this.#now();
    // An increase of 0 creates the series, so that it exists before the first real increase.
    store.number(CALLS_DEFERRED, {})?.increase(at, Math.max(0, now.deferred - this.#known.deferred));
    store.number(WORKER_SPAWNS, {})?.increase(at, now.spawns - this.#known.spawns);
    store.number(WORKER_DEATHS, {})?.increase(at, now.deaths - this.#known.deaths);
    for (const [code, count] of this.#parts.stats.refused) {
      store.number(CALLS_REFUSED, { code })?.increase(at, count - (this.#refused.get(code) ?? 0));
      this.#refused.set(code, count);
    }
    this.#known = now;
  }

  /** Ignores the counts from the time when sampling was off. */
  skip(): void {
    this.#known = this.#now();
    for (const [code, count] of this.#parts.stats.refused) this.#refused.set(code, count);
  }

  #now(): { readonly deferred: number; readonly spawns: number; readonly deaths: number } {
    const { stats, workers } = this.#parts;
    return { deferred: stats.deferred, spawns: workers.spawns, deaths: workers.deaths };
  }
}
