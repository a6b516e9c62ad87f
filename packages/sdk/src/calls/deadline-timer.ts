import type { Clock } from "../clock.ts";

/**
 * One timer for many deadlines. It is set to the earliest deadline. A timer per call would cost more than all other
 * work for the call.
 */
export class DeadlineTimer {
  readonly #clock: Clock;
  readonly #expire: (nowMs: number) => void;
  readonly #nextMs: () => number;
  #armedForMs = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  /**
   * `nextMs` returns the time of the next deadline or an earlier time. `expire` handles the deadlines that have passed.
   */
  constructor(options: {
    readonly clock: Clock;
    readonly nextMs: () => number;
    readonly expire: (nowMs: number) => void;
  }) {
    this.#clock = options.clock;
    this.#nextMs = options.nextMs;
    this.#expire = options.expire;
  }

  /** Must be called after each added deadline. It is fast if the new deadline is not the earliest. */
  update(): void {
    if (this.#nextMs() < this.#armedForMs) this.#arm();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#armedForMs = Number.POSITIVE_INFINITY;
  }

  #arm(): void {
    this.stop();
    const nextMs = this.#nextMs();
    if (nextMs === Number.POSITIVE_INFINITY) return;
    this.#armedForMs = nextMs;
    // A timer may fire slightly before the time of the monotonic clock. The wait is at least 1 ms, so that the next
    // check finds an expired deadline.
    const delayMs = Math.max(1, Math.ceil(nextMs - this.#clock.monotonicMs()));
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#expire(this.#clock.monotonicMs());
      this.#arm();
    });
  }
}
