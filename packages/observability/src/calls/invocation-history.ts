import type { CallRecord } from "./call-record.ts";
import { Deque } from "./deque.ts";

/**
 * Share of the count limit and of the byte limit that is reserved for failed calls, so that later successful calls do
 * not evict them.
 */
const FAILED_SHARE = 0.25;

export interface HistoryLimits {
  readonly maxCount: number;
  readonly maxBytes: number;
}

/**
 * The last calls with their inputs and outputs, limited in number and bytes. A call is added when it begins. When the
 * history is full, the oldest call is removed: a successful call is dropped, a failed call moves into a reserved share,
 * and a call that still runs is set aside and added again as the newest when it ends.
 */
export class InvocationHistory {
  #maxCount = 0;
  #maxBytes = 0;
  /** Limits for recent calls. The rest of both limits is reserved for failed calls. */
  #recentCount = 0;
  #recentMaxBytes = 0;
  readonly #recent = new Deque<CallRecord>();
  readonly #failed = new Deque<CallRecord>();
  readonly #running = new Set<CallRecord>();
  #recentBytes = 0;
  #failedBytes = 0;
  #sequence = 0;
  #hasEvictedFailures = false;

  constructor(limits: HistoryLimits) {
    this.configure(limits);
  }

  configure({ maxCount, maxBytes }: HistoryLimits): void {
    this.#maxCount = maxCount;
    this.#maxBytes = maxBytes;
    this.#recentCount = maxCount - Math.floor(maxCount * FAILED_SHARE);
    this.#recentMaxBytes = maxBytes - Math.floor(maxBytes * FAILED_SHARE);
    this.#makeRoom();
  }

  get size(): number {
    return this.#recent.length + this.#failed.length + this.#running.size;
  }

  /** Approximate size of the stored calls, in bytes. */
  get bytes(): number {
    return this.#recentBytes + this.#failedBytes;
  }

  /** True if a failed call was evicted. The oldest failed calls are evicted first. */
  get hasEvictedFailures(): boolean {
    return this.#hasEvictedFailures;
  }

  begun(record: CallRecord): void {
    if (this.#maxCount === 0) {
      record.trim();
      return;
    }
    record.retain();
    this.#enter(record);
  }

  ended(record: CallRecord): void {
    if (record.inHistory) {
      // The call was counted when it began, so only the increase since then is added: the output or the failure.
      const { fullSize } = record;
      this.#recentBytes += fullSize - record.countedBytes;
      record.countedBytes = fullSize;
      if (this.#recentBytes > this.#recentMaxBytes) this.#makeRoom();
      return;
    }
    if (this.#running.delete(record)) this.#enter(record);
    else record.trim();
  }

  *[Symbol.iterator](): Generator<CallRecord> {
    const all = [...this.#recent, ...this.#failed, ...this.#running];
    all.sort((a, b) => b.sequence - a.sequence);
    yield* all;
  }

  byId(invocationId: string): CallRecord | undefined {
    for (const record of this) if (record.invocationId === invocationId) return record;
    return undefined;
  }

  clear(): void {
    for (const record of this) this.#leave(record);
    this.#recent.clear();
    this.#failed.clear();
    this.#running.clear();
    this.#recentBytes = 0;
    this.#failedBytes = 0;
  }

  #enter(record: CallRecord): void {
    record.sequence = ++this.#sequence;
    record.inHistory = true;
    record.countedBytes = record.fullSize;
    this.#recent.push(record);
    this.#recentBytes += record.countedBytes;
    if (this.#recent.length > this.#recentCount || this.#recentBytes > this.#recentMaxBytes) this.#makeRoom();
  }

  #makeRoom(): void {
    const count = this.#recentCount;
    const bytes = this.#recentMaxBytes;
    while (this.#recent.length > 0 && (this.#recent.length > count || this.#recentBytes > bytes)) {
      const record = this.#recent.shift() as CallRecord;
      this.#recentBytes -= record.countedBytes;
      record.inHistory = false;
      if (record.result === undefined) this.#setAside(record);
      else if (record.result === "ok") this.#leave(record);
      else {
        record.unpack();
        this.#failed.push(record);
        this.#failedBytes += record.countedBytes;
      }
    }
    while (
      this.#failed.length > 0 &&
      (this.#failed.length > this.#maxCount - count || this.#failedBytes > this.#maxBytes - bytes)
    ) {
      const record = this.#failed.shift() as CallRecord;
      this.#failedBytes -= record.countedBytes;
      this.#hasEvictedFailures = true;
      this.#leave(record);
    }
    if (this.#running.size <= this.#maxCount) return;
    for (const record of this.#running) {
      if (this.#running.size <= this.#maxCount) break;
      this.#running.delete(record);
      record.release();
    }
  }

  #setAside(record: CallRecord): void {
    // A call that is set aside is not counted in the limits, so it may store only as much as a span does.
    record.trim();
    this.#running.add(record);
  }

  #leave(record: CallRecord): void {
    record.inHistory = false;
    record.trim();
    record.release();
  }
}
