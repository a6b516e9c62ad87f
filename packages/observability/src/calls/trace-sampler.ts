import { compileWildcards } from "@svc-runtime/protocol";
import type { ObservabilityConfig } from "../config.ts";

export type SamplingConfig = Pick<ObservabilityConfig, "sampling" | "sampling_ratio">;

interface Rule {
  readonly operation: ((name: string) => boolean) | undefined;
  readonly service: ((name: string) => boolean) | undefined;
  readonly rate: number;
}

/**
 * Number of digits at the end of a trace id that decide. W3C Trace Context defines these digits as random. A number
 * holds 13 hex digits exactly.
 */
const DECIDING_DIGITS = 13;
const RANGE = 16 ** DECIDING_DIGITS;

/**
 * Decides which traces are sampled. The decision depends on the trace id, so that all samplers with the same ratio
 * agree.
 */
export class TraceSampler {
  /** True if every trace is sampled, so that callers can skip `decide`. */
  readonly keepsAll: boolean;
  /** True if a continued trace follows the sampled flag of its traceparent. */
  readonly parentBased: boolean;
  readonly #ratio: number;
  readonly #rules: readonly Rule[];
  readonly #perSecond: number | undefined;
  /**
   * Number of traces that may begin now (a token bucket). It was computed at `#countedAt`, in milliseconds on the
   * monotonic clock.
   */
  #tokens: number;
  #countedAt = Number.NEGATIVE_INFINITY;

  constructor({ sampling, sampling_ratio }: SamplingConfig) {
    this.#ratio = sampling?.default ?? sampling_ratio;
    this.#rules = (sampling?.rules ?? []).map(({ operation, service, rate }) => ({
      operation: operation === undefined ? undefined : compileWildcards(operation),
      service: service === undefined ? undefined : compileWildcards(service),
      rate,
    }));
    this.#perSecond = sampling?.rate_limit?.max_traces_per_second;
    this.#tokens = Math.max(1, this.#perSecond ?? 1);
    this.parentBased = sampling?.parent_based ?? true;
    this.keepsAll = this.#ratio >= 1 && this.#rules.every(({ rate }) => rate >= 1) && this.#perSecond === undefined;
  }

  /** Decides for the first span of a trace. `nowMs` is on the monotonic clock. */
  decideRoot(traceId: string, name: string, service: string, nowMs: number): boolean {
    return this.keepsAll || (this.decide(traceId, name, service) && this.#takesOne(nowMs));
  }

  /** Decides for a trace id, without the rate limit. */
  decide(traceId: string, name: string, service: string): boolean {
    const ratio = this.#ratioFor(name, service);
    if (ratio >= 1) return true;
    return ratio > 0 && Number.parseInt(traceId.slice(-DECIDING_DIGITS), 16) < ratio * RANGE;
  }

  #ratioFor(name: string, service: string): number {
    for (const rule of this.#rules) {
      if (rule.operation !== undefined && !rule.operation(name)) continue;
      if (rule.service === undefined || rule.service(service)) return rule.rate;
    }
    return this.#ratio;
  }

  #takesOne(nowMs: number): boolean {
    const perSecond = this.#perSecond;
    if (perSecond === undefined) return true;
    const most = Math.max(1, perSecond);
    const passed = this.#countedAt === Number.NEGATIVE_INFINITY ? 0 : Math.max(0, nowMs - this.#countedAt);
    this.#tokens = Math.min(most, this.#tokens + (passed / 1_000) * perSecond);
    this.#countedAt = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
