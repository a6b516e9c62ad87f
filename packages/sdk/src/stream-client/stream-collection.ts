import { CallError } from "@svc-runtime/protocol/client";
import { Listeners } from "../listeners.ts";
import type {
  GroupHandlers,
  StreamSubscription,
  StreamUpdate,
  SubscriptionStatus,
  SyncFacts,
} from "./stream-handlers.ts";

/** A change of a collection: of all items, or of one item. */
export type CollectionChange<Item> =
  | { readonly type: "sync" }
  | {
      readonly type: "create" | "update" | "delete";
      readonly id: string /** For a deletion: the deleted item. */;
      readonly item: Item;
    };

export interface CollectionOptions<Item> extends Pick<GroupHandlers<Item>, "onGap" | "onError" | "onStatus"> {
  readonly onChange?: ((change: CollectionChange<Item>, items: ReadonlyMap<string, Item>) => void) | undefined;
  /**
   * Returns the id of an item. It is used if the engine does not send ids. By default, it is the item's member `id`.
   */
  readonly idOf?: ((item: Item) => string | undefined) | undefined;
}

/** A current copy of the items of a group, by id. Created by `collection` of a client. */
export class StreamCollection<Item> {
  readonly #options: CollectionOptions<Item>;
  readonly #subscription: StreamSubscription;
  readonly #listeners = new Listeners<[change: CollectionChange<Item>, items: ReadonlyMap<string, Item>]>();
  #items = new Map<string, Item>();
  #settle: { readonly resolve: () => void; readonly reject: (error: CallError) => void } | undefined;
  /** Resolves when the items are loaded for the first time. Rejects if the subscription ends before that. */
  readonly ready: Promise<void>;

  /** Internal: created by `collection` of a client. */
  constructor(subscribe: (handlers: GroupHandlers<Item>) => StreamSubscription, options: CollectionOptions<Item>) {
    this.#options = options;
    this.ready = new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // Prevents an unhandled rejection. It is safe, because `onError` and the status report the error too.
    this.ready.catch(() => {});
    if (options.onChange !== undefined) this.onChange(options.onChange);
    let lastError: CallError | undefined;
    this.#subscription = subscribe({
      onSync: (data, facts) => this.#sync(data, facts),
      onEvent: (update) => this.#apply(update),
      onGap: options.onGap,
      onError: (error) => {
        lastError = error;
        options.onError?.(error);
      },
      onStatus: (status) => {
        if (status === "closed")
          this.#settle?.reject(
            lastError ?? new CallError("disconnected", "the collection was closed before its items arrived"),
          );
        options.onStatus?.(status);
      },
    });
  }

  /** The current items. Each sync creates a new map. */
  get items(): ReadonlyMap<string, Item> {
    return this.#items;
  }

  get size(): number {
    return this.#items.size;
  }

  get(id: string): Item | undefined {
    return this.#items.get(id);
  }

  /**
   * Status of the subscription. While it is not `live`, the items are those that were current when it was last `live`.
   */
  get status(): SubscriptionStatus {
    return this.#subscription.status;
  }

  /** Sequence number of the last applied event. Undefined before the first sync. */
  get seq(): number | undefined {
    return this.#subscription.seq;
  }

  /** Calls `listener` on each change from now on. Returns a function that removes the listener. */
  onChange(listener: (change: CollectionChange<Item>, items: ReadonlyMap<string, Item>) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Leaves the group. The items stay unchanged. */
  close(): void {
    this.#subscription.leave();
  }

  #sync(data: readonly Item[], { itemIds }: SyncFacts): void {
    const items = new Map<string, Item>();
    const nameless: number[] = [];
    data.forEach((item, index) => {
      const id = itemIds?.[index] ?? this.#idOf(item);
      if (id === undefined) nameless.push(index);
      else items.set(id, item);
    });
    this.#items = items;
    if (nameless.length > 0) {
      const message = `${nameless.length} items have no id; give the collection an \`idOf\``;
      this.#options.onError?.(new CallError("invalid_input", message, { details: { indexes: nameless.slice(0, 10) } }));
    }
    // After the first sync, `resolve` has no effect.
    this.#settle?.resolve();
    this.#changed({ type: "sync" });
  }

  #apply(update: StreamUpdate<Item>): void {
    if (update.type === "event") return;
    const { type, id, data } = update;
    if (type === "delete") this.#items.delete(id);
    else this.#items.set(id, data);
    this.#changed({ type, id, item: data });
  }

  #idOf(item: Item): string | undefined {
    if (this.#options.idOf !== undefined) return this.#options.idOf(item);
    if (typeof item !== "object" || item === null || !("id" in item)) return undefined;
    return typeof item.id === "string" ? item.id : undefined;
  }

  #changed(change: CollectionChange<Item>): void {
    // All listeners are called. Then the first error is rethrown, and the subscription logs it.
    let failure: { readonly error: unknown } | undefined;
    this.#listeners.notify([change, this.#items], (error) => {
      failure ??= { error };
    });
    if (failure !== undefined) throw failure.error;
  }
}
