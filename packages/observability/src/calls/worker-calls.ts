import { DURATION_LAYOUT, DurationHistogram, durationsBetween } from "../metrics/duration-histogram.ts";
import { type HistogramCounts, NOTHING_COUNTED, percentileOf } from "../metrics/histogram.ts";

/** Number of samples that a window spans: 5 minutes of samples every 5 s. */
const WINDOW_SAMPLES = 60;
/** Number of samples between two copies of the counts. */
const COPY_EVERY = 12;
/**
 * Disconnected workers are forgotten when a sample is taken. They are also forgotten at this number of workers, because
 * no samples are taken while metrics are off.
 */
const MAX_WORKERS = 1_000;

/** Figures of the calls of one worker in the last 5 to 6 minutes, or since it connected. */
export interface WorkerCallFigures {
  readonly calls: number;
  /** Failed calls, including timeouts and cancellations. */
  readonly errors: number;
  readonly error_rate: number;
  readonly rate_per_second: number;
  /** Null if there were no calls. */
  readonly p95_ms: number | null;
  readonly window_seconds: number;
}

interface Counts {
  readonly atMs: number;
  readonly calls: number;
  readonly errors: number;
  readonly durations: HistogramCounts;
}

class WorkerStats {
  calls = 0;
  errors = 0;
  readonly durations = new DurationHistogram();
  /** Copies of the counts, oldest first. There are at most WINDOW_SAMPLES / COPY_EVERY + 1. */
  readonly copies: Counts[];

  constructor(nowMs: number) {
    this.copies = [{ atMs: nowMs, calls: 0, errors: 0, durations: NOTHING_COUNTED }];
  }

  counts(atMs: number): Counts {
    return { atMs, calls: this.calls, errors: this.errors, durations: this.durations.counts() };
  }
}

/**
 * Counts the ended calls of each connected worker. It is on the hot path. Times are milliseconds on the monotonic
 * clock.
 */
export class WorkerCalls {
  readonly #byWorker = new Map<string, WorkerStats>();
  readonly #isConnected: (workerId: string) => boolean;
  readonly #now: () => number;
  #samples = 0;

  constructor(isConnected: (workerId: string) => boolean, now: () => number) {
    this.#isConnected = isConnected;
    this.#now = now;
  }

  ended(workerId: string, isOk: boolean, durationMs: number): void {
    const stats = this.#byWorker.get(workerId) ?? this.#add(workerId);
    if (stats === undefined) return;
    stats.calls++;
    if (!isOk) stats.errors++;
    stats.durations.record(durationMs);
  }

  /** Takes a sample. Called every 5 s. Forgets disconnected workers. */
  sample(): void {
    const copies = ++this.#samples % COPY_EVERY === 0;
    this.#forget();
    if (!copies) return;
    for (const stats of this.#byWorker.values()) {
      stats.copies.push(stats.counts(this.#now()));
      if (stats.copies.length > WINDOW_SAMPLES / COPY_EVERY + 1) stats.copies.shift();
    }
  }

  #forget(): void {
    for (const id of this.#byWorker.keys()) if (!this.#isConnected(id)) this.#byWorker.delete(id);
  }

  /** Returns the figures of a worker; undefined if it has run no call. */
  figures(workerId: string): WorkerCallFigures | undefined {
    const stats = this.#byWorker.get(workerId);
    const from = stats?.copies[0];
    if (stats === undefined || from === undefined) return undefined;
    const to = stats.counts(this.#now());
    const calls = to.calls - from.calls;
    const errors = to.errors - from.errors;
    const seconds = Math.max(1, (to.atMs - from.atMs) / 1_000);
    return {
      calls,
      errors,
      error_rate: calls === 0 ? 0 : errors / calls,
      rate_per_second: calls / seconds,
      p95_ms: percentileOf(durationsBetween(from.durations, to.durations), DURATION_LAYOUT, 95),
      window_seconds: Math.round(seconds),
    };
  }

  /** Adds counters for a worker. Returns undefined if it has disconnected, because a call may end after that. */
  #add(workerId: string): WorkerStats | undefined {
    if (!this.#isConnected(workerId)) return undefined;
    if (this.#byWorker.size >= MAX_WORKERS) this.#forget();
    const stats = new WorkerStats(this.#now());
    this.#byWorker.set(workerId, stats);
    return stats;
  }
}
