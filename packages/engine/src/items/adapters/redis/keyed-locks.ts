/**
 * A function that runs while its keys are locked. It must call `release` once, as soon as the next job on its keys may
 * start.
 */
export type LockedJob = (release: () => void) => void;

interface Waiter {
  readonly keys: readonly string[];
  readonly job: LockedJob;
  /** Number of keys that an earlier job still holds. */
  blocked: number;
  /** Jobs that wait for this one, once per key. */
  readonly followers: Waiter[];
}

/** FIFO locks by key. Jobs that have a key in common run one after another. Other jobs run concurrently. */
export class KeyedLocks {
  /** The last job of each locked key. */
  readonly #last = new Map<string, Waiter>();
  #startable: Waiter[] = [];
  #isStarting = false;

  /** Runs the job as soon as it holds the locks of all its keys. If they are free, runs it synchronously. */
  acquire(keys: readonly string[], job: LockedJob): void {
    const waiter: Waiter = { keys: keys.length > 1 ? [...new Set(keys)] : keys, job, blocked: 0, followers: [] };
    for (const key of waiter.keys) {
      const before = this.#last.get(key);
      this.#last.set(key, waiter);
      if (before === undefined) continue;
      before.followers.push(waiter);
      waiter.blocked += 1;
    }
    if (waiter.blocked === 0) this.#start([waiter]);
  }

  /**
   * Starts the waiters. Uses a loop instead of recursion, because many jobs that release their locks synchronously
   * would overflow the stack.
   */
  #start(waiters: readonly Waiter[]): void {
    this.#startable.push(...waiters);
    if (this.#isStarting) return;
    this.#isStarting = true;
    while (this.#startable.length > 0) {
      const batch = this.#startable;
      this.#startable = [];
      for (const waiter of batch) waiter.job(() => this.#release(waiter));
    }
    this.#isStarting = false;
  }

  #release(waiter: Waiter): void {
    for (const key of waiter.keys) {
      if (this.#last.get(key) === waiter) this.#last.delete(key);
    }
    for (const follower of waiter.followers) follower.blocked -= 1;
    this.#start([...new Set(waiter.followers)].filter((follower) => follower.blocked === 0));
  }
}
