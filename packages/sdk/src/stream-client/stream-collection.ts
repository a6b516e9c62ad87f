import { CallError } from "@svc/protocol";
import type { GroupHandlers, StreamSubscription, StreamUpdate, SubscriptionStatus, SyncFacts } from "./stream-handlers.ts";

/** What changed in a collection: all of it, or one item. */
export type CollectionChange<Item> =
  | { readonly type: "sync" }
  | { readonly type: "create" | "update" | "delete"; readonly id: string /** Of a deletion: what was there. */; readonly item: Item };

export interface CollectionOptions<Item> extends Pick<GroupHandlers<Item>, "onGap" | "onError" | "onStatus"> {
  readonly onChange?: ((change: CollectionChange<Item>, items: ReadonlyMap<string, Item>) => void) | undefined;
  /** The id of an item, where the engine does not tell it with the items. Default: its member `id`. */
  readonly idOf?: ((item: Item) => string | undefined) | undefined;
}

/** The items of a group by id, kept as the stream has them. Made by `collection` of a client. */
export class StreamCollection<Item> {
  readonly #options: CollectionOptions<Item>;
  readonly #subscription: StreamSubscription;
  readonly #listeners = new Set<(change: CollectionChange<Item>, items: ReadonlyMap<string, Item>) => void>();
  #items = new Map<string, Item>();
  #settle: { readonly resolve: () => void; readonly reject: (error: CallError) => void } | undefined;
  /** Resolves when the items are there for the first time; rejects when the subscription ends before. */
  readonly ready: Promise<void>;

  /** Not for users. */
  constructor(subscribe: (handlers: GroupHandlers<Item>) => StreamSubscription, options: CollectionOptions<Item>) {
    this.#options = options;
    this.ready = new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // Whoever does not wait for it is told by `onError` and the status.
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
        if (status === "closed") this.#settle?.reject(lastError ?? new CallError("disconnected", "the collection was closed before its items came"));
        options.onStatus?.(status);
      },
    });
  }

  /** Always the present items. The map is another one after each sync. */
  get items(): ReadonlyMap<string, Item> {
    return this.#items;
  }

  get size(): number {
    return this.#items.size;
  }

  get(id: string): Item | undefined {
    return this.#items.get(id);
  }

  /** While it is not `live`, the items are those of the last moment at which it was. */
  get status(): SubscriptionStatus {
    return this.#subscription.status;
  }

  /** Number of the last event that is in it; undefined before the first sync. */
  get seq(): number | undefined {
    return this.#subscription.seq;
  }

  /** Tells of each change from now on. Returns how to stop that. */
  onChange(listener: (change: CollectionChange<Item>, items: ReadonlyMap<string, Item>) => void): () => void {
    const entry = (change: CollectionChange<Item>, items: ReadonlyMap<string, Item>): void => listener(change, items);
    this.#listeners.add(entry);
    return () => {
      this.#listeners.delete(entry);
    };
  }

  /** Leaves the group; the items stay as they are. */
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
      const message = `${nameless.length} items have no id that could be told; give the collection an \`idOf\``;
      this.#options.onError?.(new CallError("invalid_input", message, { details: { indexes: nameless.slice(0, 10) } }));
    }
    // Again does nothing.
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
    // The first failure is thrown on, to be logged, when all were told.
    let failure: { readonly error: unknown } | undefined;
    for (const listener of [...this.#listeners]) {
      try {
        listener(change, this.#items);
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure !== undefined) throw failure.error;
  }
}
