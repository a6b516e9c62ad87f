import type { Clock } from "@svc-runtime/engine/module";
import { type BackoffOptions, backoffMs } from "@svc-runtime/protocol";
import type { DropCounter } from "../telemetry-records.ts";

export type SendResult =
  | { readonly kind: "sent"; readonly rejected: number }
  /** The collector is down, slow or overloaded. The same request is sent again later. */
  | { readonly kind: "retry"; readonly message: string }
  /** The response was unexpected. The same request is sent a few more times. */
  | { readonly kind: "unexpected"; readonly message: string }
  /** The collector will never accept this request. */
  | { readonly kind: "refused"; readonly message: string };

/** Sends records to a collector, one request at a time. */
export interface Sender<T> {
  /** Sends a batch. It never rejects, and takes 10 s at most. */
  send(records: readonly T[]): Promise<SendResult>;
  close(): void;
}

export interface ExportQueueOptions<T> {
  readonly signal: "spans" | "logs" | "metrics";
  readonly sizeOf: (record: T) => number;
  readonly maxBytes: number;
  readonly batchSize: number;
  /** Maximum time that a record waits for others before it is sent, in milliseconds. */
  readonly flushMs: number;
  /** Creates the sender. Called before the first request, because the libraries that it loads are large. */
  readonly openSender: () => Promise<Sender<T>>;
  readonly drops: DropCounter;
  readonly clock: Clock;
  /** Called with a reason when requests start to fail, and with undefined when they succeed again. */
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

/** Maximum size of one request, in bytes. gRPC collectors accept 4 MiB by default. */
const MAX_BATCH_BYTES = 2 * 1024 * 1024;
/**
 * Pause after a failed request. The jitter prevents that several engines retry at the same time after a common failure.
 */
const BACKOFF: BackoffOptions = { firstMs: 1_000, maxMs: 10_000, jitter: 0.2 };
const MAX_UNEXPECTED_RESPONSES = 5;
const FAILING_AFTER = 5;

/**
 * A queue of records for a collector. Its size in bytes is limited; the oldest records are dropped first. `add` never
 * waits. While the collector is unavailable, records are queued. They are sent in order when it is available again.
 */
export class ExportQueue<T> {
  readonly #options: ExportQueueOptions<T>;
  /** Queued records. Those before `#head` were already sent or dropped. */
  #waiting: T[] = [];
  #head = 0;
  #bytes = 0;
  /** The batch that is in flight or that is sent again. */
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

  /** Sends the queued records for at most `maxMs`, and drops the rest. */
  async stop(maxMs: number): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    let timer: NodeJS.Timeout | undefined;
    const isOver = new Promise<void>((resolve) => {
      // Uses real time instead of the module's clock, because the caller that stops the engine waits in real time.
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

  /** Resolves when the queue is empty or a request fails. */
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
    // The queue was stopped during the request. It counted the batch as dropped, because it is not known whether the
    // batch arrived.
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
