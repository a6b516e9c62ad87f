import type { Clock } from "../../../kernel/clock.ts";
import type { Undo } from "../../../kernel/scope.ts";

export interface SemaphoreLimits {
  /** Maximum number of holders. */
  readonly limit: number;
  /** Maximum number of waiters; further ones are refused. */
  readonly queueLimit: number;
}

interface Waiter {
  readonly admit: () => void;
}

/** A FIFO semaphore with a bounded queue. */
export class Semaphore {
  #holders = 0;
  // An array is fast enough, because the queue is short and waiters rarely leave before their turn.
  readonly #waiting: Waiter[] = [];

  get isEmpty(): boolean {
    return this.#holders === 0 && this.#waiting.length === 0;
  }

  isFull({ limit, queueLimit }: SemaphoreLimits): boolean {
    return (this.#holders >= limit || this.#waiting.length > 0) && this.#waiting.length >= queueLimit;
  }

  /** Acquires without waiting. Returns false if there is no room. After true, `release` must be called. */
  tryAcquire({ limit }: SemaphoreLimits): boolean {
    if (this.#holders >= limit || this.#waiting.length > 0) return false;
    this.#holders++;
    return true;
  }

  /**
   * Waits for at most `waitMs`. Resolves with false in three cases: the queue is full; the time is over; the waiting
   * request ended, which `onGone` reports. After true, `release` must be called.
   */
  acquire(
    limits: SemaphoreLimits,
    options: { readonly clock: Clock; readonly waitMs: number; onGone(listener: () => void): void },
  ): Promise<boolean> {
    if (this.tryAcquire(limits)) return Promise.resolve(true);
    if (this.#waiting.length >= limits.queueLimit) return Promise.resolve(false);
    return new Promise((resolve) => {
      let cancelTimer: Undo = () => {};
      const settle = (isAdmitted: boolean): void => {
        cancelTimer();
        resolve(isAdmitted);
      };
      const waiter: Waiter = { admit: () => settle(true) };
      const giveUp = (): void => {
        const at = this.#waiting.indexOf(waiter);
        if (at === -1) return;
        this.#waiting.splice(at, 1);
        settle(false);
      };
      cancelTimer = options.clock.after(options.waitMs, giveUp);
      this.#waiting.push(waiter);
      options.onGone(giveUp);
    });
  }

  /** Passes the place to the first waiter, if any. */
  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#holders--;
    else next.admit();
  }
}
