import { durationOf, type SpanRecord } from "../../telemetry-records.ts";

/** Spans per second that are written at any time, and the number that may be written at once. */
const SPANS_PER_SECOND = 100;
const BURST = 5_000;
/** Below this share of the burst, only some traces are written. */
const THINNING = 0.25;
/** Failed and slow spans are written while any may be. */
const SLOW_MS = 1_000;

/**
 * Decides which spans are written to disk, so that the engine's thread spends little time on it under load. A trace is
 * chosen by its id, so that all its spans are.
 */
export class TraceShare {
  readonly #nowMs: () => number;
  #tokens = BURST;
  #filledAtMs: number;

  /** `nowMs` is a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#filledAtMs = nowMs();
  }

  /** True while all spans are written. */
  get isWhole(): boolean {
    return this.#tokens >= THINNING * BURST;
  }

  takes(span: SpanRecord): boolean {
    // The clock is read only when it matters.
    if (!this.isWhole) {
      this.#fill();
      const share = this.#tokens / (THINNING * BURST);
      if (this.#tokens < 1 || (share < 1 && !isKept(span) && positionOf(span.traceId) >= share)) return false;
    }
    this.#tokens -= 1;
    return true;
  }

  #fill(): void {
    const now = this.#nowMs();
    this.#tokens = Math.min(BURST, this.#tokens + ((now - this.#filledAtMs) / 1_000) * SPANS_PER_SECOND);
    this.#filledAtMs = now;
  }
}

function isKept(span: SpanRecord): boolean {
  return span.status === "error" || durationOf(span) >= SLOW_MS;
}

/** Returns a number from 0 to 1. Trace ids are random. */
function positionOf(traceId: string): number {
  return Number.parseInt(traceId.slice(-8), 16) / 0x1_0000_0000;
}
