import type { Clock } from "./clock.ts";

/** One timer for many deadlines, armed for the earliest: a timer per call would cost more than the call's own bookkeeping. */
export class DeadlineTimer {
  readonly #clock: Clock;
  readonly #expire: (nowMs: number) => void;
  readonly #nextMs: () => number;
  #armedForMs = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  /** `nextMs` says when the next deadline is, at the latest; `expire` handles those that have come. */
  constructor(options: { readonly clock: Clock; readonly nextMs: () => number; readonly expire: (nowMs: number) => void }) {
    this.#clock = options.clock;
    this.#nextMs = options.nextMs;
    this.#expire = options.expire;
  }

  /** To be called whenever a deadline was added. Cheap when it is not the earliest. */
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
    // Timers may fire a little early by the monotonic clock; a deadline must not be looked at in vain.
    const delayMs = Math.max(1, Math.ceil(nextMs - this.#clock.monotonicMs()));
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#expire(this.#clock.monotonicMs());
      this.#arm();
    });
  }
}
