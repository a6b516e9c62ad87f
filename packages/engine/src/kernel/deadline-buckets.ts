import type { Clock } from "./clock.ts";

/** Duration of one bucket, in milliseconds. */
const TICK_MS = 50;

/** An item with a deadline; a node in its bucket's ring. */
export interface DeadlineItem<Item> {
  readonly deadlineAt: number;
  /** Neighbours in the bucket; undefined while the item is in no bucket. Only `DeadlineBuckets` writes these fields. */
  earlier: Item | Bucket<Item> | undefined;
  later: Item | Bucket<Item> | undefined;
}

/** A circular list of the items that are due in the same 50 ms. The bucket itself is a node between last and first. */
interface Bucket<Item> {
  readonly tick: number;
  earlier: Item | Bucket<Item>;
  later: Item | Bucket<Item>;
}

/**
 * Deadlines of many items with one timer. Items are in buckets of 50 ms, and the timer sweeps the buckets while there
 * are any. Adding or removing an item only changes the links of its neighbours. A Set per bucket would be simpler. But
 * a long-lived Set that is written at each call leaves old tables in the heap, which keep young objects alive until the
 * next full garbage collection.
 */
export class DeadlineBuckets<Item extends DeadlineItem<Item>> {
  readonly #clock: Clock;
  readonly #expire: (item: Item) => void;
  readonly #buckets = new Map<number, Bucket<Item>>();
  #latest: Bucket<Item> | undefined;
  #nextTick = 0;
  #armed = false;

  constructor(clock: Clock, expire: (item: Item) => void) {
    this.#clock = clock;
    this.#expire = expire;
  }

  add(item: Item): void {
    const tick = Math.ceil(item.deadlineAt / TICK_MS);
    const bucket = this.#latest?.tick === tick ? this.#latest : this.#bucketOf(tick);
    const last = bucket.earlier;
    item.earlier = last;
    item.later = bucket;
    last.later = item;
    bucket.earlier = item;
    this.#latest = bucket;
    if (!this.#armed) this.#arm();
    else if (tick < this.#nextTick) this.#nextTick = tick;
  }

  /** Removes the item. Does nothing if it is in no bucket. */
  remove(item: Item): void {
    const { earlier, later } = item;
    if (earlier === undefined || later === undefined) return;
    earlier.later = later;
    later.earlier = earlier;
    item.earlier = undefined;
    item.later = undefined;
    // The item was the only one in its bucket. Delete the empty bucket, so that empty buckets cannot pile up. But keep
    // the bucket that was used last, because the next item probably belongs to it.
    if (earlier === later && isBucket(earlier) && earlier !== this.#latest) this.#buckets.delete(earlier.tick);
  }

  #bucketOf(tick: number): Bucket<Item> {
    const known = this.#buckets.get(tick);
    if (known !== undefined) return known;
    const bucket = { tick } as { tick: number; earlier: Bucket<Item>; later: Bucket<Item> };
    bucket.earlier = bucket;
    bucket.later = bucket;
    this.#buckets.set(tick, bucket);
    // `remove` does not delete the latest bucket when it becomes empty. Delete it now, because it is no longer the
    // latest.
    const before = this.#latest;
    if (before !== undefined && before.later === before) this.#buckets.delete(before.tick);
    return bucket;
  }

  #arm(): void {
    this.#armed = true;
    this.#nextTick = Math.floor(this.#clock.monotonic() / TICK_MS);
    this.#clock.after(TICK_MS, () => this.#sweep());
  }

  #sweep(): void {
    const now = Math.floor(this.#clock.monotonic() / TICK_MS);
    for (const bucket of this.#dueBuckets(now)) {
      this.#buckets.delete(bucket.tick);
      if (this.#latest === bucket) this.#latest = undefined;
      for (let item = bucket.later; !isBucket(item); item = bucket.later) {
        this.remove(item);
        this.#expire(item);
      }
    }
    this.#nextTick = now + 1;
    if (this.#buckets.size === 0) this.#armed = false;
    else this.#clock.after(TICK_MS, () => this.#sweep());
  }

  #dueBuckets(now: number): Bucket<Item>[] {
    const due: Bucket<Item>[] = [];
    // After a long pause (e.g. of a suspended laptop) more ticks have passed than there are buckets. Iterating over the
    // buckets is faster then.
    if (now - this.#nextTick > this.#buckets.size) {
      for (const bucket of this.#buckets.values()) if (bucket.tick <= now) due.push(bucket);
      return due.sort((a, b) => a.tick - b.tick);
    }
    for (let tick = this.#nextTick; tick <= now; tick++) {
      const bucket = this.#buckets.get(tick);
      if (bucket !== undefined) due.push(bucket);
    }
    return due;
  }
}

function isBucket<Item extends DeadlineItem<Item>>(link: Item | Bucket<Item>): link is Bucket<Item> {
  return "tick" in link;
}
