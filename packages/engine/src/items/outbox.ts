export type ChangeKind = "created" | "updated" | "deleted";

/** One change of one item. A deletion has a version too: one more than the item had. */
export interface ItemChange {
  readonly kind: ChangeKind;
  readonly scope: string;
  readonly key: string;
  readonly version: number;
  /** JSON before it; undefined when there was no item. */
  readonly previous: string | undefined;
  /** JSON after it; undefined when the item is gone. */
  readonly json: string | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Someone who is to be told of a change: the change is kept for it, together with the write, until it was served. */
export interface Watcher {
  /** Stable over restarts, e.g. a binding's key. */
  readonly id: string;
  /** The changes that it wants. */
  readonly kinds: ReadonlySet<ChangeKind>;
}

/** What is kept of a write for its watchers. */
export interface Notice {
  readonly watchers: readonly Watcher[];
  /** Carried along unread, e.g. trace and depth; at most 1 KiB. */
  readonly origin: string;
}

/** A change that one watcher has not been served. */
export interface Delivery {
  /** Unique in the store and growing: of two changes of one item the later one has the higher number. */
  readonly seq: number;
  readonly watcher: string;
  readonly change: ItemChange;
  readonly origin: string;
}

/**
 * Deliveries that were written in one transaction with their changes, and stay as durable as the items until they are served. A write that would bring
 * more than `MAX_WAITING_DELIVERIES` for one watcher is refused with `overloaded`, which names the watcher: nothing is dropped.
 */
export interface Outbox {
  /** Deliveries of one watcher behind `after` (0: from the first), in order. The page ends early rather than exceed `maxBytes`, but holds at least one. */
  pending(request: { readonly watcher: string; readonly after: number; readonly limit: number; readonly maxBytes: number }): Promise<readonly Delivery[]>;
  /** They are done: never again. */
  served(deliveries: readonly Pick<Delivery, "seq" | "watcher">[]): Promise<void>;
  /** Nobody waits for this watcher's deliveries any more. Answers how many there were; what is written later is not touched. */
  forget(watcher: string): Promise<number>;
  /** Watchers with deliveries that wait, in order of their names, and how many. */
  watchers(): Promise<readonly { readonly watcher: string; readonly waiting: number }[]>;
}

/** A change, and who is to be told of it. */
export interface Told {
  readonly change: ItemChange;
  /** Watchers of the notice that wanted this kind of change. */
  readonly watchers: readonly string[];
  readonly origin: string;
}

const NOBODY: readonly string[] = [];

/** Whom of a notice each change concerns. */
export function toldOf(changes: readonly ItemChange[], notice: Notice | undefined): Told[] {
  return changes.map((change) => ({
    change,
    watchers: notice === undefined ? NOBODY : notice.watchers.filter((watcher) => watcher.kinds.has(change.kind)).map((watcher) => watcher.id),
    origin: notice?.origin ?? "",
  }));
}

/** Says why a write was refused with `overloaded`. */
export function overfullText(watcher: string, waiting: number): string {
  return `${waiting} changes wait for ${watcher} already, and no more than ${MAX_WAITING_DELIVERIES} may; nothing was written`;
}

/** For one watcher. */
export const MAX_WAITING_DELIVERIES = 100_000;
