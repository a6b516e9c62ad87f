import { itemName } from "../../../items/item-cache.ts";
import type { Delivery } from "../../../items/outbox.ts";

/** What an entry weighs besides its texts, in bytes. */
const ENTRY_OVERHEAD_BYTES = 500;
/** Deliveries of one binding in memory. */
const MAX_ENTRIES = 1_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** Bytes that deliveries take in memory, over all bindings. */
export class DeliveryBudget {
  static readonly MAX_BYTES = 64 * 1024 * 1024;
  bytes = 0;
}

/** One delivery that waits or is under way. */
export interface Entry {
  readonly delivery: Delivery;
  readonly item: string;
  readonly bytes: number;
  /** Times that the function failed on it. */
  attempts: number;
  /** Tries in a row that did not end with an answer. */
  tries: number;
}

/** Deliveries of one item, in order; the first may be under way. */
interface Lane {
  readonly entries: Entry[];
  /** The first is under way, or waits for its next try. */
  busy: boolean;
}

/** The part of a binding's deliveries that is in memory: in order for each item, and items in the order in which they became ready. */
export class DeliveryWindow {
  readonly #budget: DeliveryBudget;
  readonly #lanes = new Map<string, Lane>();
  readonly #ready = new Set<Lane>();
  #entries = 0;
  #bytes = 0;
  /** The highest number that was ever in here. */
  highest = 0;

  constructor(budget: DeliveryBudget) {
    this.#budget = budget;
  }

  /** No further delivery should come in. There is always room for one. */
  get isFull(): boolean {
    return this.#entries >= MAX_ENTRIES || this.#bytes >= MAX_BYTES || (this.#entries > 0 && this.#budget.bytes >= DeliveryBudget.MAX_BYTES);
  }

  /** How many more may come in. */
  get room(): { readonly entries: number; readonly bytes: number } {
    const bytes = Math.min(MAX_BYTES - this.#bytes, DeliveryBudget.MAX_BYTES - this.#budget.bytes);
    return { entries: Math.max(1, MAX_ENTRIES - this.#entries), bytes: Math.max(1, bytes) };
  }

  /** So much has gone out that reading the next page is worth it. */
  get wantsMore(): boolean {
    return this.#entries === 0 || (!this.isFull && this.#entries <= MAX_ENTRIES / 2 && this.#bytes <= MAX_BYTES / 2);
  }

  /** Takes its place by its number among those of its item that are not under way. */
  add(delivery: Delivery): void {
    const { scope, key, previous, json } = delivery.change;
    const item = itemName(scope, key);
    const bytes = ENTRY_OVERHEAD_BYTES + 2 * (item.length + (previous?.length ?? 0) + (json?.length ?? 0));
    const entry: Entry = { delivery, item, bytes, attempts: 0, tries: 0 };
    let lane = this.#lanes.get(item);
    if (lane === undefined) {
      lane = { entries: [], busy: false };
      this.#lanes.set(item, lane);
    }
    const first = lane.busy ? 1 : 0;
    let at = lane.entries.length;
    while (at > first && (lane.entries[at - 1] as Entry).delivery.seq > delivery.seq) at--;
    lane.entries.splice(at, 0, entry);
    if (!lane.busy) this.#ready.add(lane);
    this.#entries += 1;
    this.#bytes += bytes;
    this.#budget.bytes += bytes;
    this.highest = Math.max(this.highest, delivery.seq);
  }

  /** The next that may be served; its item waits until `done` or `again`. */
  take(): Entry | undefined {
    const [lane] = this.#ready;
    if (lane === undefined) return undefined;
    this.#ready.delete(lane);
    lane.busy = true;
    return lane.entries[0];
  }

  /** It was served, or is given up. */
  done(entry: Entry): void {
    const lane = this.#lanes.get(entry.item);
    if (lane === undefined || lane.entries[0] !== entry) return;
    lane.entries.shift();
    this.#forget(entry);
    lane.busy = false;
    if (lane.entries.length > 0) this.#ready.add(lane);
    else this.#lanes.delete(entry.item);
  }

  /** It may be tried again now. */
  again(entry: Entry): void {
    const lane = this.#lanes.get(entry.item);
    if (lane === undefined || lane.entries[0] !== entry) return;
    lane.busy = false;
    this.#ready.add(lane);
  }

  clear(): void {
    this.#budget.bytes -= this.#bytes;
    this.#bytes = 0;
    this.#entries = 0;
    this.#lanes.clear();
    this.#ready.clear();
  }

  #forget(entry: Entry): void {
    this.#entries -= 1;
    this.#bytes -= entry.bytes;
    this.#budget.bytes -= entry.bytes;
  }
}
