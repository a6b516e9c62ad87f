import type { Clock } from "@svc-runtime/engine/module";
import { type BackoffOptions, backoffMs } from "@svc-runtime/protocol";
import type { DropCounter } from "../telemetry-records.ts";

export type SendResult =
  | { readonly kind: "sent"; readonly rejected: number }
  /** The collector is down, slow or overloaded: try the same request again later. */
  | { readonly kind: "retry"; readonly message: string }
  /** An unexpected response: try a few more times. */
  | { readonly kind: "unexpected"; readonly message: string }
  /** The collector will never accept this request. */
  | { readonly kind: "refused"; readonly message: string };

/** Sends records to a collector, one request at a time. */
export interface Sender<T> {
  /** Never rejects. Takes a few seconds at most. */
  send(records: readonly T[]): Promise<SendResult>;
  close(): void;
}

export interface ExportQueueOptions<T> {
  readonly signal: "spans" | "logs" | "metrics";
  readonly sizeOf: (record: T) => number;
  readonly maxBytes: number;
  readonly batchSize: number;
  /** How long a record waits for others, in milliseconds. */
  readonly flushMs: number;
  /** Called before the first request, because the libraries are large. */
  readonly openSender: () => Promise<Sender<T>>;
  readonly drops: DropCounter;
  readonly clock: Clock;
  /** Called with the reason when exports start to fail, and without one when they work again. */
  readonly onStateChange?: ((reason: string | undefined) => void) | undefined;
}

export interface ExportState {
  readonly signal: "spans" | "logs" | "metrics";
  /** `retrying`: the last request failed. `failing`: several requests in a row failed. */
  readonly state: "ok" | "retrying" | "failing";
  readonly last_error?: string;
  /** Time since the first failed request after the last successful one. */
  readonly failing_for_ms?: number;
  readonly queued: number;
  readonly queued_bytes: number;
  readonly sent: number;
  readonly dropped: number;
  readonly last_success_ms?: number;
}

/** Maximum size of one request: gRPC collectors accept 4 MiB by default. */
const MAX_BATCH_BYTES = 2 * 1024 * 1024;
/** Pause after a failed request. The jitter keeps engines that failed together from retrying together. */
const BACKOFF: BackoffOptions = { firstMs: 1_000, maxMs: 10_000, jitter: 0.2 };
const MAX_UNEXPECTED_RESPONSES = 5;
const FAILING_AFTER = 5;

/**
 * A queue of records for a collector. It is limited by bytes; the oldest records are dropped first. `add` never waits.
 * While the collector is unavailable the queue fills, and is sent in order when it is back.
 */
export class ExportQueue<T> {
  readonly #options: ExportQueueOptions<T>;
  /** Valid from `#head`. */
  #waiting: T[] = [];
  #head = 0;
  #bytes = 0;
  /** The batch in flight or to be retried. */
  #batch: readonly T[] = [];
  #sender: Sender<T> | undefined;
  #sending: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #isPausing = false;
  #stopped = false;
  #failures = 0;
  #failingSinceMs = 0;
  #unexpectedResponses = 0;
  #sent = 0;
  #dropped = 0;
  #lastError: string | undefined;
  #lastSuccessMs: number | undefined;

  constructor(options: ExportQueueOptions<T>) {
    this.#options = options;
  }

  get state(): ExportState {
    return {
      signal: this.#options.signal,
      state: this.#failures === 0 ? "ok" : this.#failures < FAILING_AFTER ? "retrying" : "failing",
      ...(this.#failures === 0 || this.#lastError === undefined ? {} : { last_error: this.#lastError }),
      ...(this.#failures === 0 ? {} : { failing_for_ms: this.#options.clock.monotonic() - this.#failingSinceMs }),
      queued: this.#count + this.#batch.length,
      queued_bytes: this.#bytes,
      sent: this.#sent,
      dropped: this.#dropped,
      ...(this.#lastSuccessMs === undefined ? {} : { last_success_ms: this.#lastSuccessMs }),
    };
  }

  get #count(): number {
    return this.#waiting.length - this.#head;
  }

  add(record: T): void {
    if (this.#stopped) {
      this.#drop("shutdown", 1);
      return;
    }
    this.#waiting.push(record);
    this.#bytes += this.#options.sizeOf(record);
    while (this.#bytes > this.#options.maxBytes && this.#count > 1) {
      this.#bytes -= this.#options.sizeOf(this.#shift());
      this.#drop("export_queue_full", 1);
    }
    if (this.#isPausing || this.#sending !== undefined) return;
    if (this.#count >= this.#options.batchSize) this.#sendNow();
    else this.#cancelTimer ??= this.#options.clock.after(this.#options.flushMs, () => this.#sendNow());
  }

  /** Sends what is left for at most `maxMs`; drops the rest. */
  async stop(maxMs: number): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    let timer: NodeJS.Timeout | undefined;
    const isOver = new Promise<void>((resolve) => {
      // Real time, because the caller that stops the engine waits in real time.
      timer = setTimeout(resolve, maxMs);
    });
    await Promise.race([this.#sendAll(), isOver]);
    clearTimeout(timer);
    this.#cancelTimer?.();
    this.#sender?.close();
    const left = this.#count + this.#batch.length;
    this.#waiting = [];
    this.#head = 0;
    this.#batch = [];
    this.#bytes = 0;
    if (left > 0) this.#drop("shutdown", left);
  }

  /** Resolves when the queue is empty or the collector fails. */
  async #sendAll(): Promise<void> {
    await this.#sending;
    this.#cancelTimer?.();
    while (this.#count + this.#batch.length > 0) {
      const failures = this.#failures;
      await this.#sendBatch();
      if (this.#failures > failures) return;
    }
  }

  #sendNow(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#isPausing = false;
    if (this.#sending !== undefined || this.#stopped) return;
    this.#sending = this.#sendBatch().finally(() => {
      this.#sending = undefined;
      this.#scheduleNext();
    });
  }

  #scheduleNext(): void {
    if (this.#stopped || this.#count + this.#batch.length === 0) return;
    const { clock, flushMs, batchSize } = this.#options;
    this.#isPausing = this.#failures > 0;
    if (!this.#isPausing && this.#count >= batchSize) {
      this.#sendNow();
      return;
    }
    const pause = this.#isPausing ? backoffMs(BACKOFF, this.#failures) : flushMs;
    this.#cancelTimer = clock.after(pause, () => this.#sendNow());
  }

  async #sendBatch(): Promise<void> {
    if (this.#batch.length === 0) this.#batch = this.#take();
    const batch = this.#batch;
    if (batch.length === 0) return;
    const result = await this.#trySend(batch);
    // The queue was stopped meanwhile and counted the batch as dropped, because its arrival is unknown.
    if (this.#batch !== batch) return;
    if (result.kind === "sent") {
      this.#lastSuccessMs = this.#options.clock.now();
      if (this.#failures > 0) this.#options.onStateChange?.(undefined);
      this.#failures = 0;
      this.#unexpectedResponses = 0;
      this.#sent += batch.length - Math.min(batch.length, result.rejected);
      if (result.rejected > 0) this.#drop("export_rejected", Math.min(batch.length, result.rejected));
      this.#finishBatch(batch);
      return;
    }
    if (this.#failures === 0) {
      this.#failingSinceMs = this.#options.clock.monotonic();
      this.#options.onStateChange?.(result.message);
    }
    this.#failures += 1;
    this.#lastError = result.message;
    if (result.kind === "unexpected") this.#unexpectedResponses += 1;
    if (result.kind === "refused" || this.#unexpectedResponses >= MAX_UNEXPECTED_RESPONSES) {
      this.#unexpectedResponses = 0;
      this.#drop("export_refused", batch.length);
      this.#finishBatch(batch);
    }
  }

  async #trySend(batch: readonly T[]): Promise<SendResult> {
    try {
      this.#sender ??= await this.#options.openSender();
      return await this.#sender.send(batch);
    } catch (error) {
      return { kind: "unexpected", message: (error as Error).message };
    }
  }

  #finishBatch(batch: readonly T[]): void {
    for (const record of batch) this.#bytes -= this.#options.sizeOf(record);
    this.#batch = [];
  }

  #take(): readonly T[] {
    const batch: T[] = [];
    let bytes = 0;
    while (this.#count > 0 && batch.length < this.#options.batchSize) {
      bytes += this.#options.sizeOf(this.#waiting[this.#head] as T);
      if (batch.length > 0 && bytes > MAX_BATCH_BYTES) break;
      batch.push(this.#shift());
    }
    return batch;
  }

  #shift(): T {
    const first = this.#waiting[this.#head] as T;
    this.#head += 1;
    if (this.#head > 1_024 && this.#head * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    return first;
  }

  #drop(reason: string, count: number): void {
    this.#dropped += count;
    this.#options.drops.dropped(this.#options.signal, reason, count);
  }
}
