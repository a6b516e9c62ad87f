import type { Clock } from "./clock.ts";

/** How late a deadline may fire, in milliseconds. */
const TICK_MS = 50;

/** What waits for its deadline; a link in its bucket's ring. */
export interface DeadlineItem<Item> {
  readonly deadlineAt: number;
  /** Neighbours in the bucket; undefined while it does not wait. Only `Deadlines` writes them. */
  earlier: Item | Bucket<Item> | undefined;
  later: Item | Bucket<Item> | undefined;
}

/** One ring of items that are due in the same 50 ms; the bucket itself closes the ring. */
interface Bucket<Item> {
  readonly tick: number;
  earlier: Item | Bucket<Item>;
  later: Item | Bucket<Item>;
}

/**
 * Deadlines without a timer each: items lie in buckets of 50 ms, one timer visits the buckets in turn, and runs only while something
 * waits. Adding and removing only relink neighbours. A Set would do as well, but one that lives long and is written at each call leaves old
 * tables behind that keep young objects alive until the next full collection.
 */
export class Deadlines<Item extends DeadlineItem<Item>> {
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

  /** Removing what does not wait does nothing. */
  remove(item: Item): void {
    const { earlier, later } = item;
    if (earlier === undefined || later === undefined) return;
    earlier.later = later;
    later.earlier = earlier;
    item.earlier = undefined;
    item.later = undefined;
    // Alone in the ring: the bucket is empty and goes, so that odd deadlines cannot pile up; but not the one in use, which fills again at once.
    if (earlier === later && isBucket(earlier) && earlier !== this.#latest) this.#buckets.delete(earlier.tick);
  }

  #bucketOf(tick: number): Bucket<Item> {
    const known = this.#buckets.get(tick);
    if (known !== undefined) return known;
    const bucket = { tick } as { tick: number; earlier: Bucket<Item>; later: Bucket<Item> };
    bucket.earlier = bucket;
    bucket.later = bucket;
    this.#buckets.set(tick, bucket);
    // The bucket that was in use may be empty by now.
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
    // After a long pause (a suspended laptop) there are fewer buckets than ticks gone by: then walk the buckets instead.
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
