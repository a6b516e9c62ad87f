import type { SpanRecord } from "../../model.ts";

/** What waits for the disk: further spans are dropped. */
const MAX_SPANS = 20_000;
const MAX_BYTES = 32 * 1024 * 1024;
/** Spans that run are remembered up to this number; of further ones only the end is written. */
const MAX_PENDING = 10_000;

/** Spans on their way to the disk: those that have ended, and those that run and are not there yet. */
export class SpanQueue {
  #ended: SpanRecord[] = [];
  /** Ended spans of restricted senders. Written last, so that they find the spans of others that they may not replace. */
  #restricted: SpanRecord[] = [];
  #bytes = 0;
  /** Whether it is on the disk as pending. */
  readonly #running = new Map<SpanRecord, boolean>();

  get count(): number {
    return this.#ended.length + this.#restricted.length;
  }

  started(span: SpanRecord): void {
    if (this.#running.size >= MAX_PENDING) return;
    span.retain?.();
    this.#running.set(span, false);
  }

  /** False when there is no room. */
  ended(span: SpanRecord, size: number): boolean {
    this.#running.delete(span);
    if (this.count >= MAX_SPANS || this.#bytes + size > MAX_BYTES) return false;
    span.retain?.();
    if (span.outside === true && span.resource.restrictedTo !== undefined) this.#restricted.push(span);
    else this.#ended.push(span);
    this.#bytes += size;
    return true;
  }

  /** Takes everything out that is to be written. */
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

  /** What has ended is forgotten; what runs is written again with its end only. */
  clear(): void {
    this.#ended = [];
    this.#restricted = [];
    this.#bytes = 0;
  }
}
