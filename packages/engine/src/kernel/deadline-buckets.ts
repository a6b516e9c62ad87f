import type { Clock } from "./clock.ts";

/** Maximum delay of a deadline, in milliseconds. */
const TICK_MS = 50;

/** An item with a deadline; a node in its bucket's ring. */
export interface DeadlineItem<Item> {
  readonly deadlineAt: number;
  /** Neighbours in the bucket; undefined while the item is in none. Written by `DeadlineBuckets` alone. */
  earlier: Item | Bucket<Item> | undefined;
  later: Item | Bucket<Item> | undefined;
}

/** A ring of items that are due in the same 50 ms. The bucket itself closes the ring. */
interface Bucket<Item> {
  readonly tick: number;
  earlier: Item | Bucket<Item>;
  later: Item | Bucket<Item>;
}

/**
 * DeadlineBuckets without one timer each. Items are in buckets of 50 ms, and one timer sweeps the buckets while there are
 * any. Adding and removing only relink neighbours. A Set would be simpler, but a long-lived one that is written at each
 * call leaves old tables that keep young objects alive until the next full collection.
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
    // The item was alone, so the bucket is empty: delete it, so that rare deadlines cannot pile up. Keep the latest
    // one, which fills again at once.
    if (earlier === later && isBucket(earlier) && earlier !== this.#latest) this.#buckets.delete(earlier.tick);
  }

  #bucketOf(tick: number): Bucket<Item> {
    const known = this.#buckets.get(tick);
    if (known !== undefined) return known;
    const bucket = { tick } as { tick: number; earlier: Bucket<Item>; later: Bucket<Item> };
    bucket.earlier = bucket;
    bucket.later = bucket;
    this.#buckets.set(tick, bucket);
    // The former latest bucket may be empty.
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
    // After a long pause (a suspended laptop) more ticks have passed than there are buckets: iterate over the
    // buckets instead.
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
