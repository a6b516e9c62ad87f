import type { CallStats, FunctionStats } from "../../calls/call-stats.ts";
import { CALL_DURATION, CALLS, CALLS_IN_FLIGHT } from "../builtin-metrics.ts";
import { DURATION_LAYOUT, durationsBetween } from "../duration-histogram.ts";
import { type HistogramCounts, NOTHING_COUNTED } from "../histogram.ts";
import type { SeriesStore } from "../series-store.ts";

/** Values of the label `outcome`. */
const OUTCOMES = ["ok", "error", "timeout", "cancelled", "refused"] as const;
type Outcome = (typeof OUTCOMES)[number];

interface Known {
  readonly counts: Record<Outcome, number>;
  durations: HistogramCounts;
}

/** Samples the changes of the call statistics. For a function without new calls, this costs only a comparison. */
export class CallCollector {
  readonly #stats: CallStats;
  readonly #store: SeriesStore;
  readonly #known = new Map<string, Known>();

  constructor(stats: CallStats, store: SeriesStore) {
    this.#stats = stats;
    this.#store = store;
  }

  sample(at: number): void {
    let inFlight = 0;
    this.#stats.forEach((functionId, stats) => {
      inFlight += stats.inFlight;
      this.#function(functionId, stats, at);
    });
    this.#store.number(CALLS_IN_FLIGHT, {})?.set(at, inFlight);
  }

  /**
   * Samples only calls that have ended. It can run at any time, whereas all other metrics need exactly one sample per
   * period.
   */
  sampleEnded(at: number): void {
    this.#stats.forEach((functionId, stats) => {
      this.#function(functionId, stats, at);
    });
  }

  /**
   * Ignores the counts from the time when sampling was off, because these calls did not happen within the next period.
   */
  skip(): void {
    this.#stats.forEach((functionId, stats) => {
      const counts = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, countOf(stats, outcome)])) as Record<
        Outcome,
        number
      >;
      this.#known.set(functionId, { counts, durations: stats.durations.counts() });
      stats.durations.takeMax();
    });
  }

  #function(functionId: string, stats: FunctionStats, at: number): void {
    let known = this.#known.get(functionId);
    if (known === undefined) {
      known = { counts: { ok: 0, error: 0, timeout: 0, cancelled: 0, refused: 0 }, durations: NOTHING_COUNTED };
      this.#known.set(functionId, known);
    }
    for (const outcome of OUTCOMES) {
      const count = countOf(stats, outcome);
      const more = count - known.counts[outcome];
      if (more <= 0) continue;
      known.counts[outcome] = count;
      // The series is looked up each time. It may have been evicted since, or there may have been no room for it
      // before.
      this.#store.number(CALLS, { function_id: functionId, outcome })?.increase(at, more);
    }
    if (stats.durations.count === known.durations.count) return;
    const durations = stats.durations.counts();
    const between = { ...durationsBetween(known.durations, durations), max: stats.durations.takeMax() };
    known.durations = durations;
    this.#store.histogram(CALL_DURATION, { function_id: functionId }, DURATION_LAYOUT)?.add(at, between);
  }
}

function countOf(stats: FunctionStats, outcome: Outcome): number {
  switch (outcome) {
    case "ok":
      return stats.ok;
    case "error":
      return stats.errors - stats.timedOut - stats.cancelled - stats.refused;
    case "timeout":
      return stats.timedOut;
    case "cancelled":
      return stats.cancelled;
    case "refused":
      return stats.refused;
  }
}
