import type { Clock } from "@svc-runtime/engine/module";
import { durationOf, type SpanRecord } from "../../telemetry-records.ts";

/** Spans per second that are written at any time, and the number that may be written at once. */
const SPANS_PER_SECOND = 50;
const BURST = 500;
/** The same for spans that failed or were slow: these are written while others are left out. */
const KEPT_PER_SECOND = 20;
const KEPT_BURST = 200;
const SLOW_MS = 1_000;
/**
 * When the limit is reached, spans are left out for this time, in milliseconds. Then 50 are written at once, so that
 * most of their traces are whole.
 */
const PAUSE_MS = 1_000;

/**
 * Decides which spans are written to disk, so that the engine's threads spend little time on it under load. Reads no
 * clock and no span while it leaves spans out: there may be many thousands per second.
 */
export class TraceShare {
  readonly #clock: Clock;
  readonly #onLeftOut: (count: number) => void;
  #tokens = BURST;
  #keptTokens = KEPT_BURST;
  #filledAtMs: number;
  #leftOut = 0;
  #endPause: (() => void) | undefined;

  /** `onLeftOut` is called with the number of spans that were left out, some time later. */
  constructor(clock: Clock, onLeftOut: (count: number) => void) {
    this.#clock = clock;
    this.#onLeftOut = onLeftOut;
    this.#filledAtMs = clock.monotonic();
  }

  /** True while all spans are written. */
  get isWhole(): boolean {
    return this.#endPause === undefined;
  }

  takes(span: SpanRecord): boolean {
    if (this.#endPause === undefined) {
      if (this.#tokens < 1) this.#fill();
      if (this.#tokens >= 1) {
        this.#tokens -= 1;
        return true;
      }
      this.#pause();
    }
    if (this.#keptTokens >= 1 && (span.status === "error" || durationOf(span) >= SLOW_MS)) {
      this.#keptTokens -= 1;
      return true;
    }
    this.#leftOut += 1;
    return false;
  }

  stop(): void {
    this.#endPause?.();
  }

  #pause(): void {
    this.#endPause = this.#clock.after(PAUSE_MS, () => {
      this.#endPause = undefined;
      this.#fill();
      this.#onLeftOut(this.#leftOut);
      this.#leftOut = 0;
    });
  }

  #fill(): void {
    const now = this.#clock.monotonic();
    const seconds = (now - this.#filledAtMs) / 1_000;
    this.#tokens = Math.min(BURST, this.#tokens + seconds * SPANS_PER_SECOND);
    this.#keptTokens = Math.min(KEPT_BURST, this.#keptTokens + seconds * KEPT_PER_SECOND);
    this.#filledAtMs = now;
  }
}
