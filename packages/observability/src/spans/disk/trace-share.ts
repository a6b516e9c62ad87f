import type { Clock } from "@svc-runtime/engine/module";
import { RecentIds } from "../../recent-ids.ts";
import { durationOf, type SpanRecord } from "../../telemetry-records.ts";

/** Traces per second that are written, and the number of them that may begin at once. */
const TRACES = { perSecond: 12, burst: 100 };
/** The same for the spans of these traces. */
const SPANS = { perSecond: 50, burst: 500 };
/** The same for spans that failed or were slow: these are written while others are left out. */
const KEPT = { perSecond: 20, burst: 200 };
const SLOW_MS = 1_000;
/** Written traces that are remembered, so that their later spans are written. */
const MAX_REMEMBERED = 500;
/** Maximum number of left-out traces that are remembered, so that none of their later spans are written. */
const MAX_LEFT_OUT = 1_000;
/**
 * When a limit is reached, no further trace is written for this time, in milliseconds. Meanwhile no clock and mostly no
 * trace id is read: there may be many thousands of spans per second.
 */
const PAUSE_MS = 1_000;
/** After a pause, traces still count as many for this time, in milliseconds. */
const AFTER_PAUSE_MS = 5_000;

export interface TraceSharePorts {
  /** Returns whether a span that is written is running. */
  readonly isWritingRunning: () => boolean;
  /** Returns the trace ids of all running spans. */
  readonly runningTraces: () => Iterable<string>;
  /** Called with the number of spans that were left out, some time later. */
  readonly onLeftOut: (count: number) => void;
}

/**
 * Decides which traces are written to disk, so that the engine's threads spend little time on it under load. A trace is
 * written or left out as a whole, except that a limit of spans may be reached, and that a written trace may go on after a
 * time without running spans.
 */
export class TraceShare {
  readonly #clock: Clock;
  readonly #ports: TraceSharePorts;
  readonly #written = new RecentIds(MAX_REMEMBERED);
  /** Traces that were running at the end of the last pause and had begun before it ended. */
  #leftOutTraces: ReadonlySet<string> = new Set();
  #traces = TRACES.burst;
  #spans = SPANS.burst;
  #kept = KEPT.burst;
  #filledAtMs: number;
  #leftOut = 0;
  #endPause: (() => void) | undefined;
  /** When the last pause began, by the monotonic clock. */
  #pausedAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, ports: TraceSharePorts) {
    this.#clock = clock;
    this.#ports = ports;
    this.#filledAtMs = clock.monotonic();
  }

  /** Whether the start of a span is written. */
  takesStarted(span: SpanRecord): boolean {
    return this.#takesTrace(span);
  }

  /** Whether an ended span is written. */
  takes(span: SpanRecord): boolean {
    if (this.#takesTrace(span) && this.#takesSpan()) return true;
    if (this.#kept >= 1 && (span.status === "error" || durationOf(span) >= SLOW_MS)) {
      this.#kept -= 1;
      return true;
    }
    this.#leftOut += 1;
    return false;
  }

  /** True while traces are left out, and soon after. */
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
