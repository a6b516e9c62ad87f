import type { Principal, Quota } from "../kernel/module.ts";

/** One thing that waits to be handed over. */
interface Waiting<Item> {
  readonly item: Item;
  /** Bytes that it counts while it waits. */
  readonly bytes: number;
  /** Bytes that it takes of the quota until it was delivered. */
  readonly held: number;
  /** Whose share of the quota it takes. */
  readonly principal: Principal;
}

export interface DeliveryQueueOptions<Item> {
  /** Hands one over. What it rejects with goes to `onFailed`. */
  readonly deliver: (item: Item) => Promise<void>;
  readonly onFailed: (item: Item, error: unknown) => void;
  /** There was no room for it: it is gone. */
  readonly onDropped: (item: Item) => void;
  readonly maxWaiting: number;
  /** Of what waits, together. */
  readonly maxBytes: number;
  /** Limits the bytes that wait or are being delivered in all queues that share it. */
  readonly quota: Quota;
  /** Whose share of the quota the items take. */
  readonly principal: () => Principal;
  /** Lanes that are served at once. */
  readonly maxParallel: number;
}

/** Hands things over, those of one lane one after another, lanes beside each other and in turn. When it is full, what comes is dropped, and said so. */
export class DeliveryQueue<Item> {
  readonly #options: DeliveryQueueOptions<Item>;
  /** What waits, by lane; a lane stands here while something of it waits or is being handed over. */
  #lanes = new Map<string, Waiting<Item>[]>();
  /** Lanes of which something waits and nothing is being handed over, those that waited longest first. */
  readonly #ready = new Set<string>();
  #waiting = 0;
  #bytes = 0;
  #active = 0;
  #whenIdle: (() => void)[] = [];

  constructor(options: DeliveryQueueOptions<Item>) {
    this.#options = options;
  }

  /** `bytes`: what the item holds of memory, about. False when there was no room for it. */
  push(lane: string, item: Item, bytes: number): boolean {
    const { maxWaiting, maxBytes, maxParallel, quota, onDropped } = this.#options;
    const principal = this.#options.principal();
    // An item that is larger than all the room together still waits if nothing else does.
    const held = Math.min(bytes, maxBytes);
    // An item that is delivered at once does not wait.
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

  /** Resolves when nothing waits nor is being handed over. */
  idle(): Promise<void> {
    if (this.#waiting === 0 && this.#active === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** Forgets what waits; what is being handed over goes on. */
  clear(): void {
    for (const lane of this.#lanes.values()) for (const { held, principal } of lane) this.#options.quota.release(principal, held);
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
