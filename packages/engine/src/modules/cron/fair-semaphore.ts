import { type Principal, Quota } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";

/** Runs of one principal that wait for a slot. */
interface Line {
  readonly principal: Principal;
  readonly waiting: ((release: Undo | undefined) => void)[];
}

/**
 * A semaphore for runs that is fair between principals: one restricted principal has at most an eighth of the slots, all restricted ones together
 * half. Runs of one principal get a slot in the order in which they asked, principals take turns.
 */
export class FairSemaphore {
  readonly #quota: Quota;
  /** By principal; the one that waited longest for its turn is first. */
  readonly #lines = new Map<string, Line>();
  #closed = false;

  constructor(count: number) {
    this.#quota = new Quota("runs", { total: count, restricted: Math.max(1, Math.floor(count / 2)), each: Math.max(1, Math.floor(count / 8)) });
  }

  /** Resolves with what gives the slot back, or with undefined once the semaphore is closed. */
  take(principal: Principal): Promise<Undo | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const key = keyOf(principal);
    let line = this.#lines.get(key);
    if (line === undefined) {
      const release = this.#tryTake(principal);
      if (release !== undefined) return Promise.resolve(release);
      line = { principal, waiting: [] };
      this.#lines.set(key, line);
    }
    const { waiting } = line;
    return new Promise((resolve) => waiting.push(resolve));
  }

  /** Ends all waiting without a slot, and all later requests. */
  close(): void {
    this.#closed = true;
    for (const { waiting } of this.#lines.values()) for (const resolve of waiting) resolve(undefined);
    this.#lines.clear();
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
    for (const [key, line] of [...this.#lines]) {
      const release = this.#tryTake(line.principal);
      if (release === undefined) continue;
      line.waiting.shift()?.(release);
      this.#lines.delete(key);
      // Its next turn comes after all others.
      if (line.waiting.length > 0) this.#lines.set(key, line);
    }
  }
}

function keyOf({ id, isTrusted }: Principal): string {
  return `${isTrusted ? "trusted" : "restricted"} ${id}`;
}
