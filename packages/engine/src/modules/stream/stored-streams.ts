import { CallError, Payload } from "@svc-runtime/protocol";
import { durabilityMember, entryJson } from "../../items/entry-json.ts";
import { ExpirySweep } from "../../items/expiry-sweep.ts";
import type { AppliedItem, Conflict, ItemStore, ItemWritten } from "../../items/item-store.ts";
import type { ChangeKind } from "../../items/outbox.ts";
import { cursorOfKey, keyOfCursor } from "../../items/page-cursor.ts";
import { storedJson } from "../../items/stored-json.ts";
import { refuseDeepUpdate } from "../../items/update-depth.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { StreamEvent, StreamSnapshot } from "../../kernel/stream-contract.ts";
import { mayBeStored } from "../../store/may-be-stored.ts";
import { namesOfScope, scopeOf, scopePrefixOf } from "./names.ts";
import type { Stores } from "./stores.ts";
import type {
  Cause,
  GroupAddress,
  ItemAddress,
  PageChoices,
  StreamBackend,
  Update,
  WriteChoices,
} from "./stream-backend.ts";
import type { StreamEvents } from "./stream-events.ts";

/** Maximum size of the values in a response, in bytes. Together with the envelope they fit in a frame of 16 MiB. */
const MAX_LIST_BYTES = 15 * 1024 * 1024;
/** Maximum size of the values in a page, in bytes. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
/** Has no effect: the limit in bytes is always reached first, because an item and its comma have at least 2 bytes. */
const MAX_SNAPSHOT_ITEMS = MAX_LIST_BYTES;

const EVENT_TYPES: Readonly<Record<ChangeKind, StreamEvent["type"]>> = {
  created: "create",
  updated: "update",
  deleted: "delete",
};
const NO_CAUSE: Cause = { traceparent: undefined, baggage: undefined };

/** A write of this module, from its request to its response. */
class OwnWrite {
  readonly cause: Cause;
  #seq: number | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(cause: Cause) {
    this.cause = cause;
  }

  /** Calls `publish`. Stores its result or its error for `publishedSeq`. */
  publish(publish: () => number | undefined): void {
    try {
      this.#seq = publish();
    } catch (error) {
      this.#failure = { error };
    }
  }

  /** Returns the sequence number of the last event, or undefined if nothing changed. Throws if publishing failed. */
  publishedSeq(): number | undefined {
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#seq;
  }
}

export interface StoredStreamsOptions {
  readonly stores: Stores;
  readonly events: StreamEvents;
  readonly clock: Clock;
  readonly log: Logger;
  /** Maximum size of an item's JSON, in bytes. */
  readonly maxValueBytes: () => number;
}

/** Streams whose items are stored in item stores of the engine. */
export class StoredStreams implements StreamBackend {
  readonly #stores: Stores;
  readonly #events: StreamEvents;
  readonly #clock: Clock;
  readonly #maxValueBytes: () => number;
  readonly #sweeps: ReadonlyMap<ItemStore, ExpirySweep>;

  constructor({ stores, events, clock, log, maxValueBytes }: StoredStreamsOptions) {
    this.#stores = stores;
    this.#events = events;
    this.#clock = clock;
    this.#maxValueBytes = maxValueBytes;
    this.#sweeps = new Map(
      stores.all.map((store) => {
        const remove = (item: { readonly scope: string; readonly key: string; readonly version: number }) =>
          this.#removeExpired(store, item);
        return [store, new ExpirySweep({ store, clock, log, remove })];
      }),
    );
    // Listens until the stores close.
    for (const store of stores.all) store.onApplied((applied) => this.#applied(store, applied));
  }

  /** Starts to delete expired items. */
  async start(): Promise<void> {
    for (const sweep of this.#sweeps.values()) await sweep.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#sweeps.values()].map((sweep) => sweep.stop()));
  }

  /** Returns the JSON of an item's or event's data. Throws `invalid_input` and `payload_too_large`. */
  dataJson(data: Payload): { readonly json: string; readonly bytes: number } {
    return storedJson(data, { name: "data", maxBytes: this.#maxValueBytes(), limit: "max_value_bytes of svc-stream" });
  }

  async get(address: ItemAddress): Promise<Payload> {
    const item = await this.#stores.of(address.stream).get(scopeOf(address.stream, address.group), address.id);
    return item === undefined ? Payload.null : Payload.fromText(item.json);
  }

  async getEntry(address: ItemAddress): Promise<Payload> {
    const item = await this.#stores.of(address.stream).get(scopeOf(address.stream, address.group), address.id);
    return item === undefined ? Payload.null : Payload.fromText(entryJson(item, "item_id"));
  }

  async set(
    address: ItemAddress,
    data: Payload,
    { ifVersion, expiresInMs }: WriteChoices,
    cause: Cause,
  ): Promise<Payload> {
    const { json, bytes } = this.dataJson(data);
    const store = this.#stores.of(address.stream);
    const now = this.#clock.now();
    const expiresAt = expiresInMs === undefined ? undefined : now + expiresInMs;
    const own = new OwnWrite(cause);
    const write = store.set(
      scopeOf(address.stream, address.group),
      address.id,
      { json, bytes, expiresAt },
      { now, ifVersion, notice: undefined, mark: own },
    );
    return write.then(
      (outcome) => {
        const { written, members } = this.#settle(store, address, outcome, { ifVersion, own });
        return Payload.fromText(`{"old_value":${written.previous ?? "null"},"new_value":${json}${members}}`);
      },
      this.#failed(store, address, expiresAt),
    );
  }

  async update(address: ItemAddress, { ops, atomic, ifVersion, expiresInMs }: Update, cause: Cause): Promise<Payload> {
    const store = this.#stores.of(address.stream);
    const now = this.#clock.now();
    const expiresAt = expiresInMs === undefined ? "keep" : now + expiresInMs;
    refuseDeepUpdate(ops);
    const update = { ops, atomic, maxBytes: this.#maxValueBytes(), expiresAt } as const;
    const own = new OwnWrite(cause);
    return store
      .update(scopeOf(address.stream, address.group), address.id, update, {
        ...{ now, ifVersion, notice: undefined, mark: own },
      })
      .then(
        (outcome) => {
          const { written, members } = this.#settle(store, address, outcome, { ifVersion, own });
          const errors = written.errors.length === 0 ? "" : `,"errors":${JSON.stringify(written.errors)}`;
          return Payload.fromText(
            `{"old_value":${written.previous ?? "null"},"new_value":${written.item?.json ?? "null"}${members}${errors}}`,
          );
        },
        this.#failed(store, address, expiresInMs === undefined ? undefined : now + expiresInMs),
      );
  }

  async delete(address: ItemAddress, { ifVersion }: Pick<WriteChoices, "ifVersion">, cause: Cause): Promise<Payload> {
    const store = this.#stores.of(address.stream);
    const own = new OwnWrite(cause);
    const write = store.delete(scopeOf(address.stream, address.group), address.id, {
      now: this.#clock.now(),
      ifVersion,
      notice: undefined,
      mark: own,
    });
    return write.then(
      (outcome) => {
        if (outcome.status === "conflict") throw conflict(address, ifVersion, outcome);
        const seq = own.publishedSeq();
        return Payload.fromText(
          `{"old_value":${outcome.previous ?? "null"}${seq === undefined ? "" : `,"seq":${seq}`}${durabilityMember(store.durability)}}`,
        );
      },
      this.#failed(store, address, undefined),
    );
  }

  async list({ stream, group }: GroupAddress): Promise<Payload> {
    const listing = await this.#stores.of(stream).list(scopeOf(stream, group), { maxBytes: MAX_LIST_BYTES });
    if (listing.status === "complete") return Payload.fromText(`[${listing.values.join(",")}]`);
    throw tooLarge({ stream, group }, listing.items);
  }

  /**
   * Returns a consistent snapshot with versions. Throws `payload_too_large` for a group that does not fit in a message.
   */
  async snapshot({ stream, group }: GroupAddress, id: string | undefined): Promise<StreamSnapshot> {
    const store = this.#stores.of(stream);
    const scope = scopeOf(stream, group);
    if (id !== undefined) {
      const item = await store.get(scope, id);
      // Subscribers of an item need no events of other items. So other items get the highest version: their events then
      // count as contained in the snapshot.
      return { json: item?.json ?? "null", versionOf: (key) => (key === id ? item?.version : Number.MAX_SAFE_INTEGER) };
    }
    const page = await store.page(scope, {
      prefix: "",
      after: undefined,
      limit: MAX_SNAPSHOT_ITEMS,
      maxBytes: MAX_LIST_BYTES,
    });
    if (page.more) throw tooLarge({ stream, group }, page.total);
    let versions: ReadonlyMap<string, number> | undefined;
    return {
      json: `[${page.items.map(({ json }) => json).join(",")}]`,
      itemIds: () => page.items.map(({ key }) => key),
      versionOf(key) {
        versions ??= new Map(page.items.map((item) => [item.key, item.version]));
        return versions.get(key);
      },
    };
  }

  /** Returns the non-empty groups of each store, at most `limit` per store. */
  async groups(limit: number): Promise<readonly (GroupAddress & { readonly items: number })[]> {
    const answers = await Promise.all(
      this.#stores.all.map((store) => store.groups({ prefix: "", after: undefined, limit })),
    );
    return answers.flatMap(({ groups }) => groups.map(({ scope, items }) => ({ ...namesOfScope(scope), items })));
  }

  /** Returns the non-empty streams with their groups. */
  async listAll(): Promise<ReadonlyMap<string, readonly string[]>> {
    const scopes = (await Promise.all(this.#stores.all.map((store) => store.scopes({ prefix: "" })))).flat();
    const streams = new Map<string, string[]>();
    for (const scope of scopes) {
      const { stream, group } = namesOfScope(scope);
      const groups = streams.get(stream);
      if (groups === undefined) streams.set(stream, [group]);
      else groups.push(group);
    }
    return streams;
  }

  async entries({ stream, group }: GroupAddress, { prefix, cursor, limit }: PageChoices): Promise<Payload> {
    const after = cursor === undefined ? undefined : keyOfCursor(cursor);
    const page = await this.#stores
      .of(stream)
      .page(scopeOf(stream, group), { prefix, after, limit, maxBytes: MAX_PAGE_BYTES });
    const last = page.items[page.items.length - 1];
    const next = page.more && last !== undefined ? JSON.stringify(cursorOfKey(last.key)) : "null";
    return Payload.fromText(
      `{"items":[${page.items.map((item) => entryJson(item, "item_id")).join(",")}],"cursor":${next},"total":${page.total}}`,
    );
  }

  async listGroups(stream: string): Promise<readonly string[]> {
    const scopes = await this.#stores.of(stream).scopes({ prefix: scopePrefixOf(stream) });
    return scopes.map((scope) => namesOfScope(scope).group);
  }

  #settle<Written extends ItemWritten>(
    store: ItemStore,
    address: ItemAddress,
    outcome: Written | Conflict,
    { ifVersion, own }: { readonly ifVersion: number | undefined; readonly own: OwnWrite },
  ): { readonly written: Written; readonly members: string } {
    if (outcome.status === "conflict") throw conflict(address, ifVersion, outcome);
    const seq = own.publishedSeq();
    const members = `,"version":${outcome.item?.version ?? 0}${seq === undefined ? "" : `,"seq":${seq}`}${durabilityMember(store.durability)}`;
    return { written: outcome, members };
  }

  /**
   * Handles a rejected write. If it may be stored nevertheless, the group is resynced, because the new value is
   * unknown.
   */
  #failed(store: ItemStore, { stream, group }: GroupAddress, expiresAt: number | undefined): (error: unknown) => never {
    return (error) => {
      if (mayBeStored(error)) {
        this.#events.unclear(stream, group);
        if (expiresAt !== undefined) this.#sweeps.get(store)?.note(expiresAt);
      }
      throw error;
    };
  }

  /** Publishes the changes of a stored write of this engine or another engine. Called in the order of the writes. */
  #applied(store: ItemStore, { written, mark }: AppliedItem): void {
    if (written.item?.expiresAt !== undefined) this.#sweeps.get(store)?.note(written.item.expiresAt);
    const own = mark instanceof OwnWrite ? mark : new OwnWrite(NO_CAUSE);
    own.publish(() => {
      let seq: number | undefined;
      for (const { kind, scope, key, version, previous, json } of written.changes) {
        const data = (kind === "deleted" ? previous : json) ?? "null";
        seq = this.#events.publish(
          { ...namesOfScope(scope), id: key, type: EVENT_TYPES[kind], json: data, version },
          own.cause,
        );
      }
      return seq;
    });
  }

  #removeExpired(
    store: ItemStore,
    { scope, key, version }: { readonly scope: string; readonly key: string; readonly version: number },
  ): Promise<void> {
    // A conflict needs no handling: the item was written meanwhile, and that write has also published the deletion of
    // the expired item.
    return store
      .delete(scope, key, { now: this.#clock.now(), ifVersion: version, notice: undefined })
      .then(() => {}, this.#failed(store, namesOfScope(scope), undefined));
  }
}

function tooLarge({ stream, group }: GroupAddress, items: number): CallError {
  const what = `group ${JSON.stringify(group)} of stream ${JSON.stringify(stream)} with its ${items} items`;
  const message = `${what} exceeds the maximum of ${MAX_LIST_BYTES} bytes per response; read it in pages with stream::entries, or join single items`;
  return new CallError("payload_too_large", message, { details: { limit: MAX_LIST_BYTES, items } });
}

function conflict({ stream, group, id }: ItemAddress, expected: number | undefined, { actual }: Conflict): CallError {
  const found = actual === 0 ? "it does not exist" : `it has version ${actual}`;
  const wanted = expected === 0 ? "must not exist yet" : `was expected at version ${expected}`;
  const item = `${JSON.stringify(id)} in group ${JSON.stringify(group)} of stream ${JSON.stringify(stream)}`;
  return new CallError("state_conflict", `${item} ${wanted}, but ${found}; nothing was written`, {
    details: { expected, actual },
  });
}
