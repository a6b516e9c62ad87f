import type { Clock } from "../../kernel/clock.ts";
import type { Undo } from "../../kernel/scope.ts";

export interface GateLimits {
  /** How many may be inside at once. */
  readonly limit: number;
  /** How many may wait in line for a place; further ones are turned away. */
  readonly queueLimit: number;
}

/** One who waits in line. */
interface Waiter {
  readonly letIn: () => void;
}

/** Lets a limited number in at once. Others wait in line, in the order they came; when the line is full they are turned away. */
export class Gate {
  #inside = 0;
  // An array: lines are short, and leaving from the middle is rare.
  readonly #line: Waiter[] = [];

  get isEmpty(): boolean {
    return this.#inside === 0 && this.#line.length === 0;
  }

  isFull({ limit, queueLimit }: GateLimits): boolean {
    return (this.#inside >= limit || this.#line.length > 0) && this.#line.length >= queueLimit;
  }

  /** True when there was room; `leave` must follow. */
  tryEnter({ limit }: GateLimits): boolean {
    if (this.#inside >= limit || this.#line.length > 0) return false;
    this.#inside++;
    return true;
  }

  /** Waits for a place for at most `waitMs`. False: the line is full, the time is over, or `onGone` fired. When true, `leave` must follow. */
  enter(limits: GateLimits, options: { readonly clock: Clock; readonly waitMs: number; onGone(listener: () => void): void }): Promise<boolean> {
    if (this.tryEnter(limits)) return Promise.resolve(true);
    if (this.#line.length >= limits.queueLimit) return Promise.resolve(false);
    return new Promise((resolve) => {
      let cancelTimer: Undo = () => {};
      const settle = (isIn: boolean): void => {
        cancelTimer();
        resolve(isIn);
      };
      const waiter: Waiter = { letIn: () => settle(true) };
      const giveUp = (): void => {
        const at = this.#line.indexOf(waiter);
        if (at === -1) return;
        this.#line.splice(at, 1);
        settle(false);
      };
      cancelTimer = options.clock.after(options.waitMs, giveUp);
      this.#line.push(waiter);
      options.onGone(giveUp);
    });
  }

  /** Gives the place up, to the first in line when there is one. */
  leave(): void {
    const next = this.#line.shift();
    if (next === undefined) this.#inside--;
    else next.letIn();
  }
}
