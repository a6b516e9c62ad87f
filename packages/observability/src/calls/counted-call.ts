import type { CallSpan, ObservedOutcome } from "@svc-runtime/engine/module";
import { resultOf } from "./call-failure.ts";
import type { FunctionStats } from "./call-stats.ts";
import type { SpanClock } from "./span-clock.ts";

/** A call that is counted but not recorded. The callee gets the trace context of the caller unchanged. */
export class CountedCall implements CallSpan {
  readonly traceparent: string | undefined;
  readonly #stats: FunctionStats;
  readonly #startedAt: number;
  readonly #clock: SpanClock;
  readonly #onEnd: (isOk: boolean, durationMs: number) => void;

  constructor(parts: {
    readonly stats: FunctionStats;
    readonly startedAt: number;
    readonly traceparent: string | undefined;
    readonly clock: SpanClock;
    readonly onEnd: (isOk: boolean, durationMs: number) => void;
  }) {
    this.traceparent = parts.traceparent;
    this.#stats = parts.stats;
    this.#startedAt = parts.startedAt;
    this.#clock = parts.clock;
    this.#onEnd = parts.onEnd;
  }

  ended(outcome: ObservedOutcome): void {
    const now = this.#clock.monotonic();
    const durationMs = Math.max(0, now - this.#startedAt);
    this.#stats.end(outcome.ok ? "ok" : resultOf(outcome.error), durationMs, this.#clock.anchor.offsetMs + now);
    this.#onEnd(outcome.ok, durationMs);
  }
}
