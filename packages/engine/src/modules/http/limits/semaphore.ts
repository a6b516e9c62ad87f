import type { Clock } from "../../../kernel/clock.ts";
import type { Undo } from "../../../kernel/scope.ts";

export interface SemaphoreLimits {
  /** How many may hold it at once. */
  readonly limit: number;
  /** How many may wait; further ones are refused. */
  readonly queueLimit: number;
}

interface Waiter {
  readonly admit: () => void;
}

/** Limits how many hold it at once. Others wait in the order in which they asked; when too many wait, further ones are refused. */
export class Semaphore {
  #holders = 0;
  // An array: few wait, and one that gives up before its turn is rare.
  readonly #waiting: Waiter[] = [];

  get isEmpty(): boolean {
    return this.#holders === 0 && this.#waiting.length === 0;
  }

  isFull({ limit, queueLimit }: SemaphoreLimits): boolean {
    return (this.#holders >= limit || this.#waiting.length > 0) && this.#waiting.length >= queueLimit;
  }

  /** Returns whether there was room; if so, `release` must follow. */
  tryAcquire({ limit }: SemaphoreLimits): boolean {
    if (this.#holders >= limit || this.#waiting.length > 0) return false;
    this.#holders++;
    return true;
  }

  /** Waits for at most `waitMs`. False: too many wait, the time is over, or `onGone` fired. If true, `release` must follow. */
  acquire(limits: SemaphoreLimits, options: { readonly clock: Clock; readonly waitMs: number; onGone(listener: () => void): void }): Promise<boolean> {
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

  /** Passes the place to the first that waits, if any. */
  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#holders--;
    else next.admit();
  }
}
