import type { BatchTime } from "../log-time.ts";
import type { StoreTime } from "../procedures.ts";

/**
 * Time of the entry that a replica applies. The replica stores it with each entry. So it never goes back, not even
 * after a restart, and it is the same on all nodes.
 */
export class ReplicaTime implements StoreTime {
  #time: BatchTime;

  constructor(stored: BatchTime) {
    this.#time = stored;
  }

  /** Sets the time of the next entry and returns it. `last` is the time of the previous entry. */
  begin({ now, wall }: BatchTime, last: number): BatchTime {
    this.#time = { now: Math.max(now, last), wall };
    return this.#time;
  }

  now(): number {
    return this.#time.now;
  }

  wall(): number {
    return this.#time.wall;
  }
}
