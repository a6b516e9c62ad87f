import type { BatchTime } from "../log-time.ts";
import type { StoreTime } from "../procedures.ts";

/**
 * Time of the entry that a replica applies. It never goes back: the replica stores it with each entry, so that it is
 * the same on all nodes, also on one that restarted.
 */
export class ReplicaTime implements StoreTime {
  #time: BatchTime;

  constructor(stored: BatchTime) {
    this.#time = stored;
  }

  /** Sets the time of the next entry and returns it. `last` is the time of the entry before. */
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
