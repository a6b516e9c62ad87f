import { DurationHistogram } from "../metrics/duration-histogram.ts";

export const MAX_FUNCTIONS = 10_000;
/**
 * Id under which calls are counted that have no counter of their own: calls of functions beyond `MAX_FUNCTIONS`, and
 * rejected calls of functions that were never called.
 */
export const OTHER_FUNCTIONS = "(other)";

/**
 * Error codes of calls that were rejected before they ran. Their counters are exported with 0 from the start, because a
 * counter that first appears with 1 does not show that increase.
 */
const REFUSALS = [
  "FORBIDDEN",
  "draining",
  "enqueue_error",
  "function_not_found",
  "invalid_message",
  "too_many_calls",
  "worker_overloaded",
];

/** Outcome of a call. `refused` means that the call was rejected before it ran. */
export type CallResult = "ok" | "error" | "timeout" | "cancelled" | "refused";

/**
 * Counts of the calls of one function since the engine started. The object changes with each call: copy the values that
 * you compare later.
 */
export class FunctionStats {
  /** Number of started calls, including rejected ones. */
  calls = 0;
  ok = 0;
  /** Failed calls, including `timedOut`, `cancelled` and `refused`. */
  errors = 0;
  timedOut = 0;
  cancelled = 0;
  refused = 0;
  inFlight = 0;
  /** Durations of all calls that ran, in milliseconds, with any outcome. */
  readonly durations = new DurationHistogram();
  /** Time when the last call ended, in milliseconds since 1970; 0 before the first call. */
  lastEndedMs = 0;
  lastResult: CallResult = "ok";

  /** Counts the start of a call. Each `begin` must be followed by exactly one `end`. */
  begin(): void {
    this.calls++;
    this.inFlight++;
  }

  end(result: CallResult, durationMs: number, nowMs: number): void {
    this.inFlight--;
    this.durations.record(durationMs);
    this.#count(result, nowMs);
  }

  refuse(nowMs: number): void {
    this.calls++;
    this.#count("refused", nowMs);
  }

  #count(result: CallResult, nowMs: number): void {
    if (result === "ok") this.ok++;
    else {
      this.errors++;
      if (result === "timeout") this.timedOut++;
      else if (result === "cancelled") this.cancelled++;
      else if (result === "refused") this.refused++;
    }
    this.lastEndedMs = nowMs;
    this.lastResult = result;
  }
}

export interface CallTotals {
  readonly total: number;
  readonly success: number;
  readonly error: number;
  readonly inFlight: number;
}

/** Calls by function. At most `MAX_FUNCTIONS` functions have their own counter. */
export class CallStats {
  readonly #byFunction = new Map<string, FunctionStats>();
  /** Number of rejected calls by error code. The number of codes is small, because only the engine defines them. */
  readonly #refused = new Map<string, number>(REFUSALS.map((code) => [code, 0]));
  #deferred = 0;

  /** Returns the counter for a call of this function. Use the same counter until the call has ended. */
  of(functionId: string): FunctionStats {
    return this.#byFunction.get(functionId) ?? this.#add(functionId);
  }

  /**
   * Returns the counter for a rejected call. Unknown functions get no counter of their own, so that they cannot fill
   * the table.
   */
  ofRefused(functionId: string): FunctionStats {
    return this.#byFunction.get(functionId) ?? this.of(OTHER_FUNCTIONS);
  }

  countDeferred(): void {
    this.#deferred++;
  }

  /** Counts a call that was rejected before it ran, for any function. */
  countRefused(code: string): void {
    this.#refused.set(code, (this.#refused.get(code) ?? 0) + 1);
  }

  get refused(): ReadonlyMap<string, number> {
    return this.#refused;
  }

  /** Calls that were enqueued instead of being made at once. */
  get deferred(): number {
    return this.#deferred;
  }

  get size(): number {
    return this.#byFunction.size;
  }

  /** Visits functions in the order of their first call. */
  forEach(visit: (functionId: string, stats: FunctionStats) => void): void {
    for (const [functionId, stats] of this.#byFunction) visit(functionId, stats);
  }

  /** Returns sums over the functions for which `isCounted` is true. */
  totals(isCounted: (functionId: string) => boolean = () => true): CallTotals {
    let total = 0;
    let success = 0;
    let error = 0;
    let inFlight = 0;
    for (const [functionId, stats] of this.#byFunction) {
      if (!isCounted(functionId)) continue;
      total += stats.calls;
      success += stats.ok;
      error += stats.errors;
      inFlight += stats.inFlight;
    }
    return { total, success, error, inFlight };
  }

  #add(functionId: string): FunctionStats {
    if (this.#byFunction.size >= MAX_FUNCTIONS && functionId !== OTHER_FUNCTIONS) return this.of(OTHER_FUNCTIONS);
    const stats = new FunctionStats();
    this.#byFunction.set(functionId, stats);
    return stats;
  }
}
