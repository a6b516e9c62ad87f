export type ChangeKind = "created" | "updated" | "deleted";

/** A change of an item. A deletion has its own version: the item's version plus 1. */
export interface ItemChange {
  readonly kind: ChangeKind;
  readonly scope: string;
  readonly key: string;
  readonly version: number;
  /** JSON before the change; undefined if there was no item. */
  readonly previous: string | undefined;
  /** JSON after the change; undefined for a deletion. */
  readonly json: string | undefined;
  /** Time of the change, in milliseconds since 1970. */
  readonly at: number;
}

/** A subscriber to changes. A change is stored together with its write until every watcher has acknowledged it. */
export interface Watcher {
  /** Id that is the same after a restart, e.g. the key of a binding. */
  readonly id: string;
  /** Kinds of changes that the watcher receives. */
  readonly kinds: ReadonlySet<ChangeKind>;
}

/** Watchers that a write must notify, and data that is stored with their deliveries. */
export interface Notice {
  readonly watchers: readonly Watcher[];
  /** Data that the store does not interpret, e.g. trace and depth; at most 1 KiB. */
  readonly origin: string;
}

/** A change that a watcher has not acknowledged. */
export interface Delivery {
  /** Sequence number, unique in the store and increasing. */
  readonly seq: number;
  readonly watcher: string;
  readonly change: ItemChange;
  readonly origin: string;
}

/**
 * Transactional outbox. Deliveries are stored in the same transaction as their changes, with the same durability as the
 * items, until they are acknowledged. If a write would exceed `MAX_WAITING_DELIVERIES` of a watcher, it is rejected
 * with `overloaded`. So no delivery is dropped.
 */
export interface Outbox {
  /**
   * Returns deliveries of a watcher after the sequence number `after`, in order (0: from the first one). They have at
   * most `maxBytes` in total, but there is at least one if any is pending.
   */
  pending(request: {
    readonly watcher: string;
    readonly after: number;
    readonly limit: number;
    readonly maxBytes: number;
  }): Promise<readonly Delivery[]>;
  /** Acknowledges and deletes deliveries. */
  acknowledge(deliveries: readonly Pick<Delivery, "seq" | "watcher">[]): Promise<void>;
  /** Discards all deliveries of a watcher and returns their number. Deliveries that are written later are kept. */
  discard(watcher: string): Promise<number>;
  /** Returns the watchers with pending deliveries, each with the number of its pending deliveries, sorted by name. */
  watchers(): Promise<readonly { readonly watcher: string; readonly waiting: number }[]>;
}

/** A change to store in the outbox. */
export interface OutboxEntry {
  readonly change: ItemChange;
  /** Ids of the watchers of the notice that receive this kind of change. */
  readonly watchers: readonly string[];
  readonly origin: string;
}

const NOBODY: readonly string[] = [];

/** Returns an entry for each change, with the watchers of the notice that receive it. */
export function outboxEntries(changes: readonly ItemChange[], notice: Notice | undefined): OutboxEntry[] {
  return changes.map((change) => ({
    change,
    watchers:
      notice === undefined
        ? NOBODY
        : notice.watchers.filter((watcher) => watcher.kinds.has(change.kind)).map((watcher) => watcher.id),
    origin: notice?.origin ?? "",
  }));
}

/** Returns the message of a write that is rejected with `overloaded`. */
export function tooManyDeliveriesText(watcher: string, waiting: number): string {
  return `${waiting} changes are pending for ${watcher}, the maximum is ${MAX_WAITING_DELIVERIES}; nothing was written`;
}

/** Maximum number of pending deliveries per watcher. */
export const MAX_WAITING_DELIVERIES = 100_000;
