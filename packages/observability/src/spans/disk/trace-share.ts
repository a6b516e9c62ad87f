import type { Clock } from "@svc-runtime/engine/module";
import { RecentIds } from "../../recent-ids.ts";
import { durationOf, type SpanRecord } from "../../telemetry-records.ts";

/** Traces per second that are written, and the number of them that may begin at once. */
const TRACES = { perSecond: 20, burst: 100 };
/** The same for the spans of these traces. */
const SPANS = { perSecond: 50, burst: 500 };
/** The same for spans that failed or were slow: these are written while others are left out. */
const KEPT = { perSecond: 20, burst: 200 };
const SLOW_MS = 1_000;
/** Written traces that are remembered, so that all of their spans are written. */
const MAX_REMEMBERED = 1_000;
/**
 * When a limit is reached, no further trace is written for this time, in milliseconds. Meanwhile no clock is read:
 * there may be many thousands of spans per second.
 */
const PAUSE_MS = 1_000;

/** Decides which traces are written to disk, so that the engine's threads spend little time on it under load. */
export class TraceShare {
  readonly #clock: Clock;
  readonly #onLeftOut: (count: number) => void;
  readonly #written = new RecentIds(MAX_REMEMBERED);
  #traces = TRACES.burst;
  #spans = SPANS.burst;
  #kept = KEPT.burst;
  #filledAtMs: number;
  #leftOut = 0;
  #endPause: (() => void) | undefined;

  /** `onLeftOut` is called with the number of spans that were left out, some time later. */
  constructor(clock: Clock, onLeftOut: (count: number) => void) {
    this.#clock = clock;
    this.#onLeftOut = onLeftOut;
    this.#filledAtMs = clock.monotonic();
  }

  /** Whether the start of a span is written. */
  takesStarted(span: SpanRecord): boolean {
    return this.#endPause === undefined && this.#takesTrace(span.traceId);
  }

  /** Whether an ended span is written. */
  takes(span: SpanRecord): boolean {
    if (this.#takesTrace(span.traceId) && this.#takesSpan()) return true;
    if (this.#kept >= 1 && (span.status === "error" || durationOf(span) >= SLOW_MS)) {
      this.#kept -= 1;
      return true;
    }
    this.#leftOut += 1;
    return false;
  }

  stop(): void {
    this.#endPause?.();
  }

  #takesTrace(traceId: string): boolean {
    if (this.#written.has(traceId)) return true;
    if (this.#traces < 1 && !this.#filled()) return false;
    if (this.#traces < 1) {
      this.#pause();
      return false;
    }
    this.#traces -= 1;
    this.#written.add(traceId);
    return true;
  }

  #takesSpan(): boolean {
    if (this.#spans < 1 && !this.#filled()) return false;
    if (this.#spans < 1) {
      this.#pause();
      return false;
    }
    this.#spans -= 1;
    return true;
  }

  #pause(): void {
    this.#endPause = this.#clock.after(PAUSE_MS, () => {
      this.#endPause = undefined;
      this.#filled();
      this.#onLeftOut(this.#leftOut);
      this.#leftOut = 0;
    });
  }

  /** Fills the limits for the time since the last call. Returns false, and does nothing, during a pause. */
  #filled(): boolean {
    if (this.#endPause !== undefined) return false;
    const now = this.#clock.monotonic();
    const seconds = (now - this.#filledAtMs) / 1_000;
    this.#traces = Math.min(TRACES.burst, this.#traces + seconds * TRACES.perSecond);
    this.#spans = Math.min(SPANS.burst, this.#spans + seconds * SPANS.perSecond);
    this.#kept = Math.min(KEPT.burst, this.#kept + seconds * KEPT.perSecond);
    this.#filledAtMs = now;
    return true;
  }
}
