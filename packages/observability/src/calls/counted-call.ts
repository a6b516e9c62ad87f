import type { CallSpan, ObservedOutcome } from "@svc-runtime/engine/module";
import { resultOf } from "./call-failure.ts";
import type { FunctionStats } from "./call-stats.ts";
import type { SpanClock } from "./span-clock.ts";

/** A call that is counted but not recorded. Its trace context is passed on unchanged. */
export class CountedCall implements CallSpan {
  readonly traceparent: string | undefined;
  readonly #stats: FunctionStats;
  readonly #startedAt: number;
  readonly #clock: SpanClock;

  constructor(stats: FunctionStats, startedAt: number, traceparent: string | undefined, clock: SpanClock) {
    this.traceparent = traceparent;
    this.#stats = stats;
    this.#startedAt = startedAt;
    this.#clock = clock;
  }

  ended(outcome: ObservedOutcome): void {
    const now = this.#clock.monotonic();
    this.#stats.end(
      outcome.ok ? "ok" : resultOf(outcome.error),
      Math.max(0, now - this.#startedAt),
      this.#clock.anchor.offsetMs + now,
    );
  }
}
