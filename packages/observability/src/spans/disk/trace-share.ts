import type { Clock } from "@svc-runtime/engine/module";
import { traceKeyOf } from "../../calls/trace-ids.ts";
import { RecentIds } from "../../recent-ids.ts";
import { durationOf, type SpanRecord } from "../../telemetry-records.ts";

/** Traces per second that are written, and the number of them that may begin at once. */
const TRACES = { perSecond: 20, burst: 100 };
/** The same for the spans of these traces. */
const SPANS = { perSecond: 50, burst: 500 };
/** The same for spans that failed or were slow: these are written while others are left out. */
const KEPT = { perSecond: 20, burst: 200 };
const SLOW_MS = 1_000;
/** Written traces that are remembered, so that their later spans are written. */
const MAX_REMEMBERED = 1_000;
/** Number of left-out traces that are remembered, so that none of their later spans are written. A power of two. */
const LEFT_OUT_PLACES = 16_384;
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
  /** Keys of traces, each at the place that its last bits name: noting one of many takes a few nanoseconds. */
  readonly #leftOutTraces = new Uint32Array(LEFT_OUT_PLACES);
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

  /** Whether the start of a span is written. Under load it is not. */
  takesStarted(span: SpanRecord): boolean {
    return this.#takesTrace(span.traceId) && this.#endPause === undefined;
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

  /** A trace is taken or left out when its first span starts, so that what is written are whole traces. */
  #takesTrace(traceId: string): boolean {
    if (this.#written.has(traceId)) return true;
    const key = traceKeyOf(traceId);
    const place = key & (LEFT_OUT_PLACES - 1);
    if (this.#leftOutTraces[place] === key || !this.#takesNewTrace()) {
      this.#leftOutTraces[place] = key;
      return false;
    }
    this.#written.add(traceId);
    return true;
  }

  #takesNewTrace(): boolean {
    if (this.#endPause !== undefined) return false;
    if (this.#traces < 1) this.#fill();
    if (this.#traces < 1) {
      this.#pause();
      return false;
    }
    this.#traces -= 1;
    return true;
  }

  #takesSpan(): boolean {
    if (this.#spans < 1 && this.#endPause === undefined) {
      this.#fill();
      if (this.#spans < 1) this.#pause();
    }
    if (this.#spans < 1) return false;
    this.#spans -= 1;
    return true;
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
    this.#traces = Math.min(TRACES.burst, this.#traces + seconds * TRACES.perSecond);
    this.#spans = Math.min(SPANS.burst, this.#spans + seconds * SPANS.perSecond);
    this.#kept = Math.min(KEPT.burst, this.#kept + seconds * KEPT.perSecond);
    this.#filledAtMs = now;
  }
}
