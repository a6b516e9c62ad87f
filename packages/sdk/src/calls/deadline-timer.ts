import type { Clock } from "../clock.ts";

/**
 * One timer for many deadlines, set to the earliest. A timer per call would cost more than the rest of the call's
 * bookkeeping.
 */
export class DeadlineTimer {
  readonly #clock: Clock;
  readonly #expire: (nowMs: number) => void;
  readonly #nextMs: () => number;
  #armedForMs = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  /** `nextMs` returns a time not later than the next deadline. `expire` handles the deadlines that have passed. */
  constructor(options: {
    readonly clock: Clock;
    readonly nextMs: () => number;
    readonly expire: (nowMs: number) => void;
  }) {
    this.#clock = options.clock;
    this.#nextMs = options.nextMs;
    this.#expire = options.expire;
  }

  /** Must be called after each added deadline. Cheap if it is not the earliest. */
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
    // Timers may fire slightly early by the monotonic clock. Wait at least 1 ms, so that no check finds nothing
    // expired.
    const delayMs = Math.max(1, Math.ceil(nextMs - this.#clock.monotonicMs()));
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#expire(this.#clock.monotonicMs());
      this.#arm();
    });
  }
}
