import type { SpanRecord } from "../../telemetry-records.ts";

/** Maximum number of queued spans. Further spans are dropped. */
const MAX_SPANS = 20_000;
const MAX_BYTES = 32 * 1024 * 1024;
/** Maximum number of tracked pending spans. Spans beyond it are written only when they end. */
const MAX_PENDING = 10_000;

/** Spans to be written: ended spans, and pending spans that are not on disk yet. */
export class SpanQueue {
  #ended: SpanRecord[] = [];
  /**
   * Ended spans of restricted senders. They are written last, so that they cannot take the place of spans of other
   * senders.
   */
  #restricted: SpanRecord[] = [];
  #bytes = 0;
  /** Pending spans. The value is true if the span is on disk as pending. */
  readonly #running = new Map<SpanRecord, boolean>();

  get count(): number {
    return this.#ended.length + this.#restricted.length;
  }

  get hasPending(): boolean {
    return this.#running.size > 0;
  }

  isPending(span: SpanRecord): boolean {
    return this.hasPending && this.#running.has(span);
  }

  started(span: SpanRecord): void {
    if (this.#running.size >= MAX_PENDING) return;
    span.retain?.();
    this.#running.set(span, false);
  }

  /** Queues an ended span. Returns false if the queue is full. */
  ended(span: SpanRecord, size: number): boolean {
    this.#running.delete(span);
    if (this.count >= MAX_SPANS || this.#bytes + size > MAX_BYTES) return false;
    span.retain?.();
    if (span.outside === true && span.resource.restrictedTo !== undefined) this.#restricted.push(span);
    else this.#ended.push(span);
    this.#bytes += size;
    return true;
  }

  /** Removes and returns all spans to be written. */
  take(): SpanRecord[] {
    const taken = this.#ended;
    this.#ended = [];
    this.#bytes = 0;
    for (const [span, isWritten] of this.#running) {
      if (isWritten) continue;
      this.#running.set(span, true);
      taken.push(span);
    }
    for (const span of this.#restricted) taken.push(span);
    this.#restricted = [];
    return taken;
  }

  /** Drops the ended spans. Pending spans are not written until they end. */
  clear(): void {
    this.#ended = [];
    this.#restricted = [];
    this.#bytes = 0;
  }
}
