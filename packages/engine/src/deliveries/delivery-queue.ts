import type { Principal, Quota } from "../kernel/module.ts";

/** An item that waits for delivery. */
interface Waiting<Item> {
  readonly item: Item;
  /** Bytes counted against `maxBytes` while the item waits. */
  readonly bytes: number;
  /** Bytes counted against the quota until the item is delivered. */
  readonly held: number;
  /** The principal whose share of the quota the item uses. */
  readonly principal: Principal;
}

export interface DeliveryQueueOptions<Item> {
  /** Delivers one item. A rejection is passed to `onFailed`. */
  readonly deliver: (item: Item) => Promise<void>;
  readonly onFailed: (item: Item, error: unknown) => void;
  /** Called when an item is dropped because the queue is full. */
  readonly onDropped: (item: Item) => void;
  readonly maxWaiting: number;
  /** Maximum size of all waiting items together, in bytes. */
  readonly maxBytes: number;
  /** Limits the bytes of waiting and in-flight items over all queues that share it. */
  readonly quota: Quota;
  /** The principal whose share of the quota the items use. */
  readonly principal: () => Principal;
  /** Maximum number of lanes served concurrently. */
  readonly maxParallel: number;
}

/**
 * A queue of items in lanes. Items of one lane are delivered one after another. Several lanes are served concurrently,
 * and all lanes take turns. When the queue is full, new items are dropped and reported.
 */
export class DeliveryQueue<Item> {
  readonly #options: DeliveryQueueOptions<Item>;
  /** Waiting items by lane. A lane is in the map while one of its items waits or is in flight. */
  #lanes = new Map<string, Waiting<Item>[]>();
  /** Lanes with waiting items and no delivery in flight. The lane that has waited longest is first. */
  readonly #ready = new Set<string>();
  #waiting = 0;
  #bytes = 0;
  #active = 0;
  #whenIdle: (() => void)[] = [];

  constructor(options: DeliveryQueueOptions<Item>) {
    this.#options = options;
  }

  /** Adds an item. `bytes` is its approximate size in memory. Returns false if there is no room for it. */
  push(lane: string, item: Item, bytes: number): boolean {
    const { maxWaiting, maxBytes, maxParallel, quota, onDropped } = this.#options;
    const principal = this.#options.principal();
    // An item larger than `maxBytes` is accepted if nothing else waits.
    const held = Math.min(bytes, maxBytes);
    // An item that is delivered at once does not count as waiting.
    const counted = this.#active < maxParallel && !this.#lanes.has(lane) ? 0 : held;
    const isFull = this.#waiting >= maxWaiting || (this.#waiting > 0 && this.#bytes + counted > maxBytes);
    if (isFull || quota.take(principal, held) !== undefined) {
      onDropped(item);
      return false;
    }
    let waiting = this.#lanes.get(lane);
    if (waiting === undefined) {
      waiting = [];
      this.#lanes.set(lane, waiting);
      this.#ready.add(lane);
    }
    waiting.push({ item, bytes: counted, held, principal });
    this.#waiting++;
    this.#bytes += counted;
    this.#startMore();
    return true;
  }

  /** Resolves when nothing waits and no delivery is in flight. */
  idle(): Promise<void> {
    if (this.#waiting === 0 && this.#active === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** Discards all waiting items. Deliveries in flight continue. */
  clear(): void {
    for (const lane of this.#lanes.values())
      for (const { held, principal } of lane) this.#options.quota.release(principal, held);
    this.#lanes = new Map();
    this.#ready.clear();
    this.#waiting = 0;
    this.#bytes = 0;
  }

  #startMore(): void {
    for (const lane of this.#ready) {
      if (this.#active >= this.#options.maxParallel) return;
      this.#ready.delete(lane);
      this.#active++;
      void this.#serve(lane);
    }
  }

  async #serve(lane: string): Promise<void> {
    const lanes = this.#lanes;
    const waiting = lanes.get(lane) ?? [];
    const next = waiting.shift();
    if (next !== undefined) {
      this.#waiting--;
      this.#bytes -= next.bytes;
      try {
        await this.#options.deliver(next.item);
      } catch (error) {
        this.#options.onFailed(next.item, error);
      } finally {
        this.#options.quota.release(next.principal, next.held);
      }
    }
    this.#active--;
    if (lanes === this.#lanes) {
      if (waiting.length > 0) this.#ready.add(lane);
      else lanes.delete(lane);
    }
    this.#startMore();
    if (this.#waiting === 0 && this.#active === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}
