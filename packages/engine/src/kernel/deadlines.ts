import type { Clock } from "./clock.ts";

/** How late a deadline may fire, in milliseconds. */
const TICK_MS = 50;

/**
 * Deadlines without a timer each: items lie in buckets of 50 ms, one timer visits the buckets in turn. Adding and removing
 * cost one set operation. The timer runs only while something is waiting.
 */
export class Deadlines<Item extends { readonly deadlineAt: number }> {
  readonly #clock: Clock;
  readonly #expire: (item: Item) => void;
  readonly #buckets = new Map<number, Set<Item>>();
  #latest: Set<Item> | undefined;
  #nextTick = 0;
  #armed = false;

  constructor(clock: Clock, expire: (item: Item) => void) {
    this.#clock = clock;
    this.#expire = expire;
  }

  add(item: Item): void {
    const tick = bucketOf(item);
    let bucket = this.#buckets.get(tick);
    if (bucket === undefined) {
      bucket = new Set();
      this.#buckets.set(tick, bucket);
    }
    bucket.add(item);
    this.#latest = bucket;
    if (!this.#armed) this.#arm();
    else if (tick < this.#nextTick) this.#nextTick = tick;
  }

  remove(item: Item): void {
    const tick = bucketOf(item);
    const bucket = this.#buckets.get(tick);
    if (bucket === undefined || !bucket.delete(item)) return;
    // An empty bucket goes, so that odd deadlines cannot pile up; but not the one in use: under steady load it fills again at once.
    if (bucket.size === 0 && bucket !== this.#latest) this.#buckets.delete(tick);
  }

  #arm(): void {
    this.#armed = true;
    this.#nextTick = Math.floor(this.#clock.monotonic() / TICK_MS);
    this.#clock.after(TICK_MS, () => this.#sweep());
  }

  #sweep(): void {
    const now = Math.floor(this.#clock.monotonic() / TICK_MS);
    for (const [tick, bucket] of this.#dueBuckets(now)) {
      this.#buckets.delete(tick);
      for (const item of bucket) this.#expire(item);
    }
    this.#nextTick = now + 1;
    if (this.#buckets.size === 0) this.#armed = false;
    else this.#clock.after(TICK_MS, () => this.#sweep());
  }

  #dueBuckets(now: number): [number, Set<Item>][] {
    const due: [number, Set<Item>][] = [];
    // After a long pause (a suspended laptop) there are fewer buckets than ticks gone by: then walk the buckets instead.
    if (now - this.#nextTick > this.#buckets.size) {
      for (const entry of this.#buckets) if (entry[0] <= now) due.push(entry);
      return due.sort((a, b) => a[0] - b[0]);
    }
    for (let tick = this.#nextTick; tick <= now; tick++) {
      const bucket = this.#buckets.get(tick);
      if (bucket !== undefined) due.push([tick, bucket]);
    }
    return due;
  }
}

function bucketOf(item: { readonly deadlineAt: number }): number {
  return Math.ceil(item.deadlineAt / TICK_MS);
}
