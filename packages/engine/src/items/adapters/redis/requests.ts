import { CallError } from "@svc-runtime/protocol";
import type { Clock } from "../../../kernel/clock.ts";

export interface RequestLimits {
  /** Maximum number of pending requests. */
  readonly maxRequests: number;
  /** Maximum total size of pending requests, in bytes. */
  readonly maxBytes: number;
  /** Timeout of each request, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/** A request without a reply yet. */
export interface PendingRequest {
  readonly bytes: number;
  readonly deadline: number;
  readonly reject: (error: CallError) => void;
  /** True after the request was rejected because of its timeout. */
  isOver: boolean;
}

/** Memory that is counted for each request in addition to its data, in bytes. */
const REQUEST_OVERHEAD_BYTES = 256;

/** Pending requests to Redis. Limits their number and size, and rejects each request at its deadline. */
export class Requests {
  readonly #limits: RequestLimits;
  readonly #clock: Clock;
  readonly #onLate: () => void;
  /** In the order of their deadlines. */
  readonly #pending = new Set<PendingRequest>();
  #bytes = 0;
  #cancelSweep: (() => void) | undefined;
  #onIdle: (() => void) | undefined;

  /** `onLate` is called after requests timed out. */
  constructor(limits: RequestLimits, clock: Clock, onLate: () => void) {
    this.#limits = limits;
    this.#clock = clock;
    this.#onLate = onLate;
  }

  /**
   * Returns an `overloaded` error if a request of `bytes` bytes exceeds the limits. A single request may have any size.
   */
  refusalFor(bytes: number): CallError | undefined {
    const { maxRequests, maxBytes } = this.#limits;
    const requests = this.#pending.size;
    if (requests === 0 || (requests < maxRequests && this.#bytes + REQUEST_OVERHEAD_BYTES + bytes <= maxBytes))
      return undefined;
    return new CallError(
      "overloaded",
      `too many pending requests to Redis: ${requests} requests of ${this.#bytes} bytes; try again shortly`,
      {
        details: { requests, bytes: this.#bytes, max_requests: maxRequests, max_bytes: maxBytes },
      },
    );
  }

  add(bytes: number, reject: (error: CallError) => void): PendingRequest {
    const { requestTimeoutMs } = this.#limits;
    const pending = {
      bytes: REQUEST_OVERHEAD_BYTES + bytes,
      deadline: this.#clock.monotonic() + requestTimeoutMs,
      reject,
      isOver: false,
    };
    this.#pending.add(pending);
    this.#bytes += pending.bytes;
    this.#cancelSweep ??= this.#clock.after(requestTimeoutMs, () => this.#sweep());
    return pending;
  }

  remove(pending: PendingRequest): void {
    if (!this.#pending.delete(pending)) return;
    this.#bytes -= pending.bytes;
    if (this.#pending.size === 0) this.#onIdle?.();
  }

  /**
   * Resolves when no request is pending. That happens in any case, because each request is rejected at its deadline.
   */
  async drained(): Promise<void> {
    if (this.#pending.size > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    this.#cancelSweep?.();
  }

  #sweep(): void {
    this.#cancelSweep = undefined;
    const { requestTimeoutMs } = this.#limits;
    const now = this.#clock.monotonic();
    const late = [...this.#pending].filter((pending) => pending.deadline <= now);
    for (const pending of late) {
      pending.isOver = true;
      this.remove(pending);
      const message = `Redis did not reply within ${requestTimeoutMs} ms; a write may still be executed`;
      pending.reject(new CallError("call_timeout", message, { details: { timeout_ms: requestTimeoutMs } }));
    }
    const [next] = this.#pending;
    if (next !== undefined)
      this.#cancelSweep = this.#clock.after(Math.max(1, next.deadline - now), () => this.#sweep());
    if (late.length > 0) this.#onLate();
  }
}
