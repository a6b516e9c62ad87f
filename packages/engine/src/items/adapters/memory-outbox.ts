import { CallError } from "@svc-runtime/protocol";
import { compareKeys } from "../key-order.ts";
import {
  type Delivery,
  type ItemChange,
  MAX_WAITING_DELIVERIES,
  type Outbox,
  type OutboxEntry,
  tooManyDeliveriesText,
} from "../outbox.ts";

/** Memory that is counted for each delivery in addition to its values, in bytes. */
const DELIVERY_OVERHEAD_BYTES = 300;

interface Entry {
  readonly change: ItemChange;
  readonly origin: string;
  readonly bytes: number;
  /** Number of watchers that have not acknowledged the change. */
  waiting: number;
}

/** Outbox in this process's memory. */
export class MemoryOutbox implements Outbox {
  readonly #refuseClosed: () => void;
  /** Entries by watcher and sequence number, in order. */
  readonly #waiting = new Map<string, Map<number, Entry>>();
  #seq = 0;
  #bytes = 0;

  /** `refuseClosed` throws if the store is closed. */
  constructor(refuseClosed: () => void) {
    this.#refuseClosed = refuseClosed;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Returns the size of these entries, in bytes. Throws `overloaded` if one of their watchers would get too many
   * pending deliveries.
   */
  sizeOf(entries: readonly OutboxEntry[]): number {
    const more = new Map<string, number>();
    let bytes = 0;
    for (const { change, watchers } of entries) {
      if (watchers.length > 0) bytes += entrySize(change);
      for (const watcher of watchers) more.set(watcher, (more.get(watcher) ?? 0) + 1);
    }
    for (const [watcher, count] of more) {
      const waiting = this.#waiting.get(watcher)?.size ?? 0;
      if (waiting + count > MAX_WAITING_DELIVERIES)
        throw new CallError("overloaded", tooManyDeliveriesText(watcher, waiting), { details: { watcher, waiting } });
    }
    return bytes;
  }

  /** Returns the entry's sequence number, or undefined if it has no watchers. */
  put({ change, watchers, origin }: OutboxEntry): number | undefined {
    if (watchers.length === 0) return undefined;
    this.#seq += 1;
    const entry: Entry = { change, origin, bytes: entrySize(change), waiting: watchers.length };
    this.#bytes += entry.bytes;
    for (const watcher of watchers) {
      let queue = this.#waiting.get(watcher);
      if (queue === undefined) {
        queue = new Map();
        this.#waiting.set(watcher, queue);
      }
      queue.set(this.#seq, entry);
    }
    return this.#seq;
  }

  async pending(request: {
    readonly watcher: string;
    readonly after: number;
    readonly limit: number;
    readonly maxBytes: number;
  }): Promise<Delivery[]> {
    this.#refuseClosed();
    const deliveries: Delivery[] = [];
    let bytes = 0;
    for (const [seq, entry] of this.#waiting.get(request.watcher) ?? []) {
      if (seq <= request.after) continue;
      bytes += entry.bytes;
      if (deliveries.length >= request.limit || (deliveries.length > 0 && bytes > request.maxBytes)) break;
      deliveries.push({ seq, watcher: request.watcher, change: entry.change, origin: entry.origin });
    }
    return deliveries;
  }

  async acknowledge(deliveries: readonly Pick<Delivery, "seq" | "watcher">[]): Promise<void> {
    this.#refuseClosed();
    for (const { seq, watcher } of deliveries) {
      const queue = this.#waiting.get(watcher);
      const entry = queue?.get(seq);
      if (queue === undefined || entry === undefined) continue;
      queue.delete(seq);
      if (queue.size === 0) this.#waiting.delete(watcher);
      this.#release(entry);
    }
  }

  async discard(watcher: string): Promise<number> {
    this.#refuseClosed();
    const queue = this.#waiting.get(watcher);
    if (queue === undefined) return 0;
    this.#waiting.delete(watcher);
    for (const entry of queue.values()) this.#release(entry);
    return queue.size;
  }

  async watchers(): Promise<{ readonly watcher: string; readonly waiting: number }[]> {
    this.#refuseClosed();
    return [...this.#waiting]
      .map(([watcher, queue]) => ({ watcher, waiting: queue.size }))
      .sort((a, b) => compareKeys(a.watcher, b.watcher));
  }

  clear(): void {
    this.#waiting.clear();
    this.#bytes = 0;
  }

  #release(entry: Entry): void {
    entry.waiting -= 1;
    if (entry.waiting === 0) this.#bytes -= entry.bytes;
  }
}

function entrySize(change: ItemChange): number {
  return (
    DELIVERY_OVERHEAD_BYTES +
    change.scope.length +
    change.key.length +
    (change.previous?.length ?? 0) +
    (change.json?.length ?? 0)
  );
}
