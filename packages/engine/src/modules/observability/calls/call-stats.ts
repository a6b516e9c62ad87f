import { DurationHistogram } from "./duration-histogram.ts";

/** Functions that are counted by their id. */
export const MAX_FUNCTIONS = 10_000;
/** Counts the calls of all functions beyond those, and calls that were refused of functions that were never called. */
export const OTHER_FUNCTIONS = "(other)";

/** Codes that calls are refused with before they run; shown from the beginning, since what is not shown cannot be seen to grow. */
const REFUSALS = ["FORBIDDEN", "draining", "enqueue_error", "function_not_found", "invalid_message", "too_many_calls", "worker_overloaded"];

/** How a call ended. `refused`: nobody ran it. */
export type CallResult = "ok" | "error" | "timeout" | "cancelled" | "refused";

/** Calls of one function since the start. A live object: read what you need, or `durations.counts()`, to compare it later. */
export class FunctionStats {
  /** Begun ones, refused ones included. */
  calls = 0;
  ok = 0;
  /** Those that failed: `timedOut`, `cancelled` and `refused` are among them. */
  errors = 0;
  timedOut = 0;
  cancelled = 0;
  refused = 0;
  inFlight = 0;
  /** Of calls that were run, however they ended, in milliseconds. */
  readonly durations = new DurationHistogram();
  /** When the last one ended, in milliseconds since 1970, and how; 0 before the first. */
  lastEndedMs = 0;
  lastResult: CallResult = "ok";

  /** Each that is told as begun is told as ended, once. */
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

/** Sums over functions, since the start. */
export interface CallTotals {
  readonly total: number;
  readonly success: number;
  readonly error: number;
  readonly inFlight: number;
}

/** Calls by function, at most `MAX_FUNCTIONS` of them by name. */
export class CallStats {
  readonly #byFunction = new Map<string, FunctionStats>();
  /** By the code of the error that they were refused with. The codes are the engine's own, and few. */
  readonly #refused = new Map<string, number>(REFUSALS.map((code) => [code, 0]));
  #deferred = 0;

  /** The one to count a call of this function in. Keep it until the call has ended. */
  of(functionId: string): FunctionStats {
    return this.#byFunction.get(functionId) ?? this.#add(functionId);
  }

  /** The one to count a refused call in: who asks for functions that are not there must not fill the table. */
  ofRefused(functionId: string): FunctionStats {
    return this.#byFunction.get(functionId) ?? this.of(OTHER_FUNCTIONS);
  }

  countDeferred(): void {
    this.#deferred++;
  }

  /** A call was refused before it ran, whoever it was for. */
  countRefused(code: string): void {
    this.#refused.set(code, (this.#refused.get(code) ?? 0) + 1);
  }

  get refused(): ReadonlyMap<string, number> {
    return this.#refused;
  }

  /** Calls that were put into a queue instead of being made at once. */
  get deferred(): number {
    return this.#deferred;
  }

  get size(): number {
    return this.#byFunction.size;
  }

  /** In the order of the first call. */
  forEach(visit: (functionId: string, stats: FunctionStats) => void): void {
    for (const [functionId, stats] of this.#byFunction) visit(functionId, stats);
  }

  /** Sums over the functions for which `isCounted` is true. */
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
