import { existsSync, statSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { CallError } from "@svc/protocol";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import { type DataFolderLock, lockDataFolder } from "../../store/data-folder.ts";
import { openStore, type Store } from "../../store/store.ts";
import { ItemCache, itemName } from "../item-cache.ts";
import type {
  Conflict,
  GroupPage,
  Item,
  ItemPage,
  ItemStore,
  ItemUpdated,
  ItemValue,
  ItemWrite,
  ItemWritten,
  Listing,
  ManyWritten,
  NumberedChange,
  PageRequest,
} from "../item-store.ts";
import type { ItemProcedures, SetOutput } from "./file-procedures.ts";
import { MemoryOutbox } from "./memory-outbox.ts";

export interface FileItemsOptions {
  /** Absolute path of the data folder; this process holds its lock. */
  readonly dataDir: string;
  /** The database file, relative to the data folder. */
  readonly filePath: string;
  /** Items kept in memory for reading, in bytes. */
  readonly cacheBytes: number;
  /** `relaxed`: a write is answered before it is synced, which follows within a second. Default `durable`. */
  readonly durability?: "durable" | "relaxed";
  readonly log: Logger;
  readonly clock: Clock;
}

/** Items in a SQLite file. Rejects with an Error that says why the file cannot be used. */
export async function openFileItems(options: FileItemsOptions): Promise<ItemStore> {
  const file = resolve(options.dataDir, options.filePath);
  if (existsSync(file) && statSync(file).isDirectory()) {
    throw new Error(`file_path ${file} is a folder, and the state is one file; name a file that does not exist yet, e.g. ${file}/state.db`);
  }
  const lock = isInside(options.dataDir, file) ? undefined : lockDataFolder(dirname(file));
  try {
    const store = await openStore<ItemProcedures>({
      file,
      procedures: new URL("./file-procedures.ts", import.meta.url),
      log: options.log,
      clock: options.clock,
    });
    return new FileItems(store, options.cacheBytes, lock);
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/** The data folder's lock keeps other engines off; a file elsewhere needs a lock of its own. */
function isInside(folder: string, file: string): boolean {
  const path = relative(folder, dirname(file));
  return path === "" || (!path.startsWith("..") && !isAbsolute(path));
}

/**
 * Why the cache is right: the store settles requests in the order in which it ran them, and the cache is filled only at that moment, so it always
 * holds what the last request that touched an item found or left. While a write of an item is on its way, reads of it go to the store.
 * A write without a clear outcome (the disk failed, the thread ended, the deadline passed) empties the cache, and what was asked for before that
 * does not fill it any more.
 */
class FileItems implements ItemStore {
  readonly durability = "durable";
  readonly outbox = new MemoryOutbox(() => {});
  readonly #store: Store<ItemProcedures>;
  readonly #cache: ItemCache;
  readonly #lock: DataFolderLock | undefined;
  /** Writes on their way, counted by scope and key. */
  readonly #writing = new Map<string, number>();
  #epoch = 0;

  constructor(store: Store<ItemProcedures>, cacheBytes: number, lock: DataFolderLock | undefined) {
    this.#store = store;
    this.#cache = new ItemCache(cacheBytes);
    this.#lock = lock;
  }

  async get(scope: string, key: string): Promise<Item | undefined> {
    if (this.#writing.size === 0 || !this.#writing.has(itemName(scope, key))) {
      const known = this.#cache.find(scope, key);
      if (known !== undefined) return known.item;
    }
    const epoch = this.#epoch;
    const item = await this.#store.call("get", { scope, key }, { bytes: nameBytes(scope, key) });
    this.#remember(epoch, scope, key, item);
    return item;
  }

  async set(scope: string, key: string, value: ItemValue, write: ItemWrite): Promise<ItemWritten | Conflict> {
    const { json, bytes } = value;
    const output = await this.#write(
      scope,
      key,
      bytes,
      (weight) => this.#store.call("set", { scope, key, json, bytes, now: write.now, ifVersion: write.ifVersion }, weight),
      (epoch, done) => {
        if (done.status !== "conflict") this.#remember(epoch, scope, key, writtenItem(key, value, write, done));
      },
    );
    if (output.status === "conflict") return output;
    const item = writtenItem(key, value, write, output);
    const previous = output.status === "unchanged" ? json : output.previous;
    const change: NumberedChange = {
      kind: previous === undefined ? "created" : "updated",
      scope,
      key,
      version: item.version,
      previous,
      json,
      at: write.now,
      seq: undefined,
      watchers: [],
    };
    return { status: output.status, previous, item, changes: output.status === "unchanged" ? [] : [change] };
  }

  async delete(scope: string, key: string, write: ItemWrite): Promise<ItemWritten | Conflict> {
    const output = await this.#write(
      scope,
      key,
      0,
      (weight) => this.#store.call("delete", { scope, key, ifVersion: write.ifVersion }, weight),
      (epoch, done) => {
        if (done.status !== "conflict") this.#remember(epoch, scope, key, undefined);
      },
    );
    if (output.status === "conflict") return output;
    const previous = output.status === "removed" ? output.previous : undefined;
    return { status: previous === undefined ? "unchanged" : "written", previous, item: undefined, changes: [] };
  }

  getMany(scope: string, keys: readonly string[]): Promise<readonly (Item | undefined)[]> {
    return Promise.all(keys.map((key) => this.get(scope, key)));
  }

  update(): Promise<ItemUpdated | Conflict> {
    return notYet();
  }

  writeMany(): Promise<ManyWritten> {
    return notYet();
  }

  groups(): Promise<GroupPage> {
    return notYet();
  }

  expired(): Promise<readonly []> {
    return notYet();
  }

  nextExpiry(): Promise<number | undefined> {
    return notYet();
  }

  snapshot(): Promise<{ readonly bytes: number }> {
    return notYet();
  }

  list(scope: string, options: { readonly maxBytes: number }): Promise<Listing> {
    return this.#store.call("list", { scope, maxBytes: options.maxBytes });
  }

  page(scope: string, request: PageRequest): Promise<ItemPage> {
    const { prefix, after, limit, maxBytes } = request;
    return this.#store.call("page", { scope, prefix, after, limit, maxBytes });
  }

  async scopes({ prefix }: { readonly prefix: string }): Promise<readonly string[]> {
    return (await this.#store.call("scopes", null)).filter((scope) => scope.startsWith(prefix));
  }

  problem(): string | undefined {
    return this.#store.problem();
  }

  async close(): Promise<void> {
    await this.#store.close();
    this.#cache.clear();
    this.#lock?.release();
  }

  async #write<Output>(
    scope: string,
    key: string,
    valueBytes: number,
    send: (weight: { readonly bytes: number }) => Promise<Output>,
    note: (epoch: number, output: Output) => void,
  ): Promise<Output> {
    const name = itemName(scope, key);
    const epoch = this.#epoch;
    this.#writing.set(name, (this.#writing.get(name) ?? 0) + 1);
    try {
      const output = await send({ bytes: nameBytes(scope, key) + valueBytes });
      note(epoch, output);
      return output;
    } catch (error) {
      if (mayHaveWritten(error)) this.#forgetAll();
      throw error;
    } finally {
      const left = (this.#writing.get(name) ?? 1) - 1;
      if (left === 0) this.#writing.delete(name);
      else this.#writing.set(name, left);
    }
  }

  #forgetAll(): void {
    this.#epoch += 1;
    this.#cache.clear();
  }

  #remember(epoch: number, scope: string, key: string, item: Item | undefined): void {
    if (epoch === this.#epoch) this.#cache.put(scope, key, item);
  }
}

/** A request that was not taken has changed nothing. */
function mayHaveWritten(error: unknown): boolean {
  return !CallError.is(error) || (error.code !== "overloaded" && error.code !== "draining");
}

function writtenItem(key: string, value: ItemValue, write: ItemWrite, output: Exclude<SetOutput, Conflict>): Item {
  const updatedAt = output.status === "unchanged" ? output.updatedAt : write.now;
  return { key, json: value.json, version: output.version, updatedAt, bytes: value.bytes, expiresAt: undefined };
}

function notYet(): Promise<never> {
  return Promise.reject(new CallError("storage_failed", "the file adapter does not do this yet"));
}

function nameBytes(scope: string, key: string): number {
  return 2 * (scope.length + key.length);
}
