import { type Principal, Quota } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";

/** Runs of one principal that wait for a slot. */
interface WaitingRuns {
  readonly principal: Principal;
  readonly waiting: ((release: Undo | undefined) => void)[];
}

/**
 * A semaphore for runs that is fair between principals. A restricted principal may hold an eighth of the slots, all
 * restricted principals together half. Runs of one principal get slots in the order of their requests; principals take
 * turns.
 */
export class FairSemaphore {
  readonly #quota: Quota;
  /** Waiting runs by principal, the next principal first. */
  readonly #waiting = new Map<string, WaitingRuns>();
  #closed = false;

  constructor(count: number) {
    this.#quota = new Quota("runs", {
      total: count,
      restricted: Math.max(1, Math.floor(count / 2)),
      each: Math.max(1, Math.floor(count / 8)),
    });
  }

  /** Resolves with a function that releases the slot, or with undefined once the semaphore is closed. */
  take(principal: Principal): Promise<Undo | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const key = keyOf(principal);
    let runs = this.#waiting.get(key);
    if (runs === undefined) {
      const release = this.#tryTake(principal);
      if (release !== undefined) return Promise.resolve(release);
      runs = { principal, waiting: [] };
      this.#waiting.set(key, runs);
    }
    const { waiting } = runs;
    return new Promise((resolve) => waiting.push(resolve));
  }

  /** Resolves all waiting and later requests with undefined. */
  close(): void {
    this.#closed = true;
    for (const { waiting } of this.#waiting.values()) for (const resolve of waiting) resolve(undefined);
    this.#waiting.clear();
  }

  #tryTake(principal: Principal): Undo | undefined {
    if (this.#quota.take(principal) !== undefined) return undefined;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#quota.release(principal);
      this.#serveWaiting();
    };
  }

  #serveWaiting(): void {
    for (const [key, runs] of [...this.#waiting]) {
      const release = this.#tryTake(runs.principal);
      if (release === undefined) continue;
      runs.waiting.shift()?.(release);
      this.#waiting.delete(key);
      // Inserted again at the end, so that the next turn of this principal comes after the turns of all others.
      if (runs.waiting.length > 0) this.#waiting.set(key, runs);
    }
  }
}

function keyOf({ id, isTrusted }: Principal): string {
  return `${isTrusted ? "trusted" : "restricted"} ${id}`;
}
