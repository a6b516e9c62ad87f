import { itemName } from "../../../items/item-cache.ts";
import type { Delivery } from "../../../items/outbox.ts";

/** Size of an entry without its strings, in bytes. */
const ENTRY_OVERHEAD_BYTES = 500;
/** Maximum deliveries in memory per binding. */
const MAX_ENTRIES = 1_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** Memory that the deliveries of all bindings use, in bytes. */
export class DeliveryBudget {
  static readonly MAX_BYTES = 64 * 1024 * 1024;
  bytes = 0;
}

/** A pending or running delivery. */
export interface Entry {
  readonly delivery: Delivery;
  readonly item: string;
  readonly bytes: number;
  /** Number of failures of the function. */
  attempts: number;
  /** Number of consecutive tries without success. */
  tries: number;
}

/** Deliveries of an item, in order. */
interface Lane {
  readonly entries: Entry[];
  /** True if the first delivery is running or waits for its next try. */
  busy: boolean;
}

/**
 * Deliveries of a binding in memory. Deliveries of an item stay in order. The item that became ready first is first.
 */
export class DeliveryWindow {
  readonly #budget: DeliveryBudget;
  readonly #lanes = new Map<string, Lane>();
  readonly #ready = new Set<Lane>();
  #entries = 0;
  #bytes = 0;
  /** Highest sequence number that was ever added. */
  highest = 0;

  constructor(budget: DeliveryBudget) {
    this.#budget = budget;
  }

  /** True if no further delivery should be added. An empty window is never full. */
  get isFull(): boolean {
    return (
      this.#entries >= MAX_ENTRIES ||
      this.#bytes >= MAX_BYTES ||
      (this.#entries > 0 && this.#budget.bytes >= DeliveryBudget.MAX_BYTES)
    );
  }

  /** Number of deliveries and bytes that may still be added. */
  get room(): { readonly entries: number; readonly bytes: number } {
    const bytes = Math.min(MAX_BYTES - this.#bytes, DeliveryBudget.MAX_BYTES - this.#budget.bytes);
    return { entries: Math.max(1, MAX_ENTRIES - this.#entries), bytes: Math.max(1, bytes) };
  }

  /** True if the window has enough room to read the next page. */
  get wantsMore(): boolean {
    return this.#entries === 0 || (!this.isFull && this.#entries <= MAX_ENTRIES / 2 && this.#bytes <= MAX_BYTES / 2);
  }

  /** True if there is a delivery to take. */
  get hasReady(): boolean {
    return this.#ready.size > 0;
  }

  /** Adds a delivery. Sorts it by sequence number among the deliveries of its item that are not running. */
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

  /** Returns the next delivery to run. Its item is blocked until `done` or `again`. */
  take(): Entry | undefined {
    const [lane] = this.#ready;
    if (lane === undefined) return undefined;
    this.#ready.delete(lane);
    lane.busy = true;
    return lane.entries[0];
  }

  /** Removes a finished delivery. */
  done(entry: Entry): void {
    const lane = this.#lanes.get(entry.item);
    if (lane === undefined || lane.entries[0] !== entry) return;
    lane.entries.shift();
    this.#subtract(entry);
    lane.busy = false;
    if (lane.entries.length > 0) this.#ready.add(lane);
    else this.#lanes.delete(entry.item);
  }

  /** Makes a delivery ready for another try. */
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

  #subtract(entry: Entry): void {
    this.#entries -= 1;
    this.#bytes -= entry.bytes;
    this.#budget.bytes -= entry.bytes;
  }
}
