import type { Clock } from "@svc-runtime/engine/module";
import { RecentIds } from "../../recent-ids.ts";
import { durationOf, type SpanRecord } from "../../telemetry-records.ts";

/** Rate of traces that are written: their number per second, and how many may begin at once. */
const TRACES = { perSecond: 12, burst: 100 };
/** Rate of the spans of these traces. */
const SPANS = { perSecond: 50, burst: 500 };
/** Rate of failed and slow spans that are written although other spans are left out. */
const KEPT = { perSecond: 20, burst: 200 };
const SLOW_MS = 1_000;
/** Maximum number of written traces that are remembered, so that their later spans are written too. */
const MAX_REMEMBERED = 500;
/** Maximum number of left-out traces that are remembered, so that their later spans are left out too. */
const MAX_LEFT_OUT = 1_000;
/**
 * When a limit is reached, no further trace is written for this time, in milliseconds. During the pause, the clock is
 * not read and trace ids mostly not, because there may be many thousands of spans per second.
 */
const PAUSE_MS = 1_000;
/** For this time after a pause, in milliseconds, the load still counts as high. */
const AFTER_PAUSE_MS = 5_000;

export interface TraceSharePorts {
  /** Returns true if a span that is written is running. */
  readonly isWritingRunning: () => boolean;
  /** Returns the trace ids of all running spans. */
  readonly runningTraces: () => Iterable<string>;
  /** Called with the number of spans that were left out, some time after that. */
  readonly onLeftOut: (count: number) => void;
}

/**
 * Decides which traces are written to disk, so that the engine's threads spend little time on it under load. A trace is
 * written or left out as a whole, with two exceptions: the limit of spans may be reached, and a written trace may
 * continue after a time without running spans.
 */
export class TraceShare {
  readonly #clock: Clock;
  readonly #ports: TraceSharePorts;
  readonly #written = new RecentIds(MAX_REMEMBERED);
  /** Traces that began during the last pause or before it, and were still running at its end. */
  #leftOutTraces: ReadonlySet<string> = new Set();
  #traces = TRACES.burst;
  #spans = SPANS.burst;
  #kept = KEPT.burst;
  #filledAtMs: number;
  #leftOut = 0;
  #endPause: (() => void) | undefined;
  /** Time when the last pause began, on the monotonic clock. */
  #pausedAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, ports: TraceSharePorts) {
    this.#clock = clock;
    this.#ports = ports;
    this.#filledAtMs = clock.monotonic();
  }

  /** Returns true if the start of a span is written. */
  takesStarted(span: SpanRecord): boolean {
    return this.#takesTrace(span);
  }

  /** Returns true if an ended span is written. */
  takes(span: SpanRecord): boolean {
    if (this.#takesTrace(span) && this.#takesSpan()) return true;
    if (this.#kept >= 1 && (span.status === "error" || durationOf(span) >= SLOW_MS)) {
      this.#kept -= 1;
      return true;
    }
    this.#leftOut += 1;
    return false;
  }

  /** True while traces are left out, and for a short time after. */
  get isLimiting(): boolean {
    return this.#clock.monotonic() - this.#pausedAtMs < PAUSE_MS + AFTER_PAUSE_MS;
  }

  stop(): void {
    this.#endPause?.();
  }

  #takesTrace(span: SpanRecord): boolean {
    if (this.#endPause !== undefined) return this.#ports.isWritingRunning() && this.#written.has(span.traceId);
    const { traceId } = span;
    if (this.#written.has(traceId)) return true;
    if (this.#leftOutTraces.has(traceId)) return false;
    if (this.#traces < 1) this.#fill();
    if (this.#traces < 1) {
      this.#pause();
      return false;
    }
    this.#traces -= 1;
    this.#written.add(traceId);
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
    this.#pausedAtMs = this.#clock.monotonic();
    this.#endPause = this.#clock.after(PAUSE_MS, () => {
      this.#endPause = undefined;
      this.#fill();
      this.#noteLeftOutTraces();
      this.#ports.onLeftOut(this.#leftOut);
      this.#leftOut = 0;
    });
  }

  #noteLeftOutTraces(): void {
    const traces = new Set<string>();
    for (const traceId of this.#ports.runningTraces()) {
      if (traces.size === MAX_LEFT_OUT) break;
      if (!this.#written.has(traceId)) traces.add(traceId);
    }
    this.#leftOutTraces = traces;
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
