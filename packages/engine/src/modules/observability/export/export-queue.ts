import { type BackoffOptions, backoffMs } from "@svc/protocol";
import type { Clock } from "../../../kernel/clock.ts";
import type { DropCounter } from "../model.ts";

/** What became of one request to the collector. */
export type SendResult =
  | { readonly kind: "sent"; readonly rejected: number }
  /** The collector is down, slow or overloaded: the same again, later. */
  | { readonly kind: "retry"; readonly message: string }
  /** It answered something else; a few more tries, in case that passes. */
  | { readonly kind: "odd"; readonly message: string }
  /** It will never take this. */
  | { readonly kind: "refused"; readonly message: string };

/** Sends records to a collector, one request at a time. */
export interface Sender<T> {
  /** Never rejects. Takes some seconds at most. */
  send(records: readonly T[]): Promise<SendResult>;
  close(): void;
}

export interface ExportQueueOptions<T> {
  readonly signal: "spans" | "logs" | "metrics";
  readonly sizeOf: (record: T) => number;
  readonly maxBytes: number;
  /** Records of one request, at most. */
  readonly batchSize: number;
  /** How long a record waits for others to go with it, in milliseconds. */
  readonly flushMs: number;
  /** Asked when there is something to send for the first time: the libraries are large. */
  readonly openSender: () => Promise<Sender<T>>;
  readonly drops: DropCounter;
  readonly clock: Clock;
  /** Told when it begins to fail, with why, and when it works again, without. */
  readonly onTurn?: ((reason: string | undefined) => void) | undefined;
}

export interface ExportState {
  readonly signal: "spans" | "logs" | "metrics";
  /** `retrying`: the last request failed; `failing`: so did the ones before, for a while. */
  readonly state: "ok" | "retrying" | "failing";
  readonly last_error?: string;
  /** Since the first request that failed after the last one that did not. */
  readonly failing_for_ms?: number;
  readonly queued: number;
  readonly queued_bytes: number;
  readonly sent: number;
  readonly dropped: number;
  readonly last_success_ms?: number;
}

/** One request, at most: collectors take 4 MiB of gRPC unless told otherwise. */
const MAX_BATCH_BYTES = 2 * 1024 * 1024;
/** Pause after a failed request. The jitter keeps engines that failed together from retrying together. */
const BACKOFF: BackoffOptions = { firstMs: 1_000, maxMs: 10_000, jitter: 0.2 };
const MAX_ODD_ANSWERS = 5;
const FAILING_AFTER = 5;

/**
 * Records on their way to a collector. Bounded by bytes, the oldest give way (L-2, L-4); whoever adds never waits. While the collector is away the
 * queue fills, and empties in order once it is back.
 */
export class ExportQueue<T> {
  readonly #options: ExportQueueOptions<T>;
  /** From `#head` on. */
  #waiting: T[] = [];
  #head = 0;
  #bytes = 0;
  /** On its way, or to be sent again. */
  #batch: readonly T[] = [];
  #sender: Sender<T> | undefined;
  #sending: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #isPausing = false;
  #stopped = false;
  #failures = 0;
  /** Monotonic. */
  #failingSinceMs = 0;
  #oddAnswers = 0;
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
    if (this.#count >= this.#options.batchSize) this.#goOn();
    else this.#cancelTimer ??= this.#options.clock.after(this.#options.flushMs, () => this.#goOn());
  }

  /** Sends what is left, for so long at most; the rest is dropped (L-5). */
  async stop(maxMs: number): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    let timer: NodeJS.Timeout | undefined;
    const isOver = new Promise<void>((resolve) => {
      // In real time: whoever stops the engine waits in it.
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

  /** Until nothing is left, or the collector does not take it. */
  async #sendAll(): Promise<void> {
    await this.#sending;
    this.#cancelTimer?.();
    while (this.#count + this.#batch.length > 0) {
      const failures = this.#failures;
      await this.#sendBatch();
      if (this.#failures > failures) return;
    }
  }

  #goOn(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#isPausing = false;
    if (this.#sending !== undefined || this.#stopped) return;
    this.#sending = this.#sendBatch().finally(() => {
      this.#sending = undefined;
      this.#planNext();
    });
  }

  #planNext(): void {
    if (this.#stopped || this.#count + this.#batch.length === 0) return;
    const { clock, flushMs, batchSize } = this.#options;
    this.#isPausing = this.#failures > 0;
    if (!this.#isPausing && this.#count >= batchSize) {
      this.#goOn();
      return;
    }
    const pause = this.#isPausing ? backoffMs(BACKOFF, this.#failures) : flushMs;
    this.#cancelTimer = clock.after(pause, () => this.#goOn());
  }

  async #sendBatch(): Promise<void> {
    if (this.#batch.length === 0) this.#batch = this.#take();
    const batch = this.#batch;
    if (batch.length === 0) return;
    const result = await this.#trySending(batch);
    // Stopped in the meantime, and counted as dropped: who knows whether it arrived.
    if (this.#batch !== batch) return;
    if (result.kind === "sent") {
      this.#lastSuccessMs = this.#options.clock.now();
      if (this.#failures > 0) this.#options.onTurn?.(undefined);
      this.#failures = 0;
      this.#oddAnswers = 0;
      this.#sent += batch.length - Math.min(batch.length, result.rejected);
      if (result.rejected > 0) this.#drop("export_rejected", Math.min(batch.length, result.rejected));
      this.#letGo(batch);
      return;
    }
    if (this.#failures === 0) {
      this.#failingSinceMs = this.#options.clock.monotonic();
      this.#options.onTurn?.(result.message);
    }
    this.#failures += 1;
    this.#lastError = result.message;
    if (result.kind === "odd") this.#oddAnswers += 1;
    if (result.kind === "refused" || this.#oddAnswers >= MAX_ODD_ANSWERS) {
      this.#oddAnswers = 0;
      this.#drop("export_refused", batch.length);
      this.#letGo(batch);
    }
  }

  async #trySending(batch: readonly T[]): Promise<SendResult> {
    try {
      this.#sender ??= await this.#options.openSender();
      return await this.#sender.send(batch);
    } catch (error) {
      return { kind: "odd", message: (error as Error).message };
    }
  }

  #letGo(batch: readonly T[]): void {
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
