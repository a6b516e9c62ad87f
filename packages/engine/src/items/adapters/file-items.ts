import { CallError } from "@svc-runtime/protocol";
import type { Clock } from "../../kernel/clock.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { Store } from "../../kernel/store-contract.ts";
import { snapshotDatabase } from "../../store/snapshot.ts";
import { CachedItems } from "../cached-items.ts";
import { ItemListeners } from "../item-listeners.ts";
import type {
  AppliedItem,
  BatchedWrite,
  BatchResult,
  Conflict,
  ExpiredItem,
  GroupPage,
  Item,
  ItemPage,
  ItemStore,
  ItemUpdate,
  ItemUpdated,
  ItemValue,
  ItemWrite,
  ItemWritten,
  Listing,
  PageRequest,
} from "../item-store.ts";
import type { ItemAddress } from "../plan-write.ts";
import { FileOutbox, noticeInput } from "./file-outbox.ts";
import { appliedItems, deleteResult, onWallClock, setResult, updateResult } from "./file-results.ts";
import type { ItemProcedures } from "./file-thread/procedures.ts";
import type { ManyOutput, OneInput, SetInput, WriteInput } from "./file-thread/writes.ts";
import { FileWatchers } from "./file-watchers.ts";

export interface FileItemsParts {
  /** Absolute path of the database. */
  readonly file: string;
  readonly store: Store<ItemProcedures>;
  readonly durability: "durable" | "relaxed";
  readonly cacheBytes: number;
  readonly clock: Clock;
  readonly onClosed: () => void;
  /** Called if a write that nobody waits for has failed. */
  readonly onError: (error: unknown) => void;
}

/** Maximum time that closing waits for snapshots, in milliseconds. Unfinished snapshots are then cancelled. */
const SNAPSHOT_CLOSE_MS = 10_000;

/**
 * Items in a store of `file-thread/procedures.ts`. Each method resolves in the first reaction to the promise of the
 * store, so that results keep their order.
 */
export class FileItems implements ItemStore {
  readonly durability: "durable" | "relaxed";
  readonly outbox: FileOutbox;
  readonly sharedWatchers: FileWatchers | undefined;
  readonly #isShared: boolean;
  readonly #file: string;
  readonly #store: Store<ItemProcedures>;
  readonly #call: Store<ItemProcedures>["call"];
  readonly #cached: CachedItems;
  readonly #listeners = new ItemListeners();
  readonly #clock: Clock;
  /**
   * How far the wall clock was ahead of the store's time at the last call of `#skewMs()`. Other methods must use
   * `#skewMs()`.
   */
  #lastSkewMs: number;
  readonly #onClosed: () => void;
  readonly #snapshots = new Set<Promise<unknown>>();
  readonly #ending = new AbortController();
  #closing: Promise<void> | undefined;

  constructor({ file, store, durability, cacheBytes, clock, onClosed, onError }: FileItemsParts) {
    this.durability = durability;
    // Reject new calls at once: the store itself stays open while closing waits for snapshots.
    this.#call = (name, input, options) =>
      this.#closing === undefined ? store.call(name, input, options) : Promise.reject(closingError());
    this.outbox = new FileOutbox(this.#call);
    this.#isShared = store.isShared;
    this.sharedWatchers = store.isShared ? new FileWatchers(store, this.#call, onError) : undefined;
    store.onApplied((applied) => {
      if (this.#listeners.isEmpty) return;
      for (const one of appliedItems(applied, this.#skewMs())) this.#listeners.report(one);
    });
    this.#file = file;
    this.#store = store;
    this.#clock = clock;
    this.#lastSkewMs = store.skewMs();
    this.#cached = new CachedItems(store.isShared ? 0 : cacheBytes, { now: () => this.#now() });
    this.#onClosed = onClosed;
  }

  get(scope: string, key: string): Promise<Item | undefined> {
    const known = this.#closing === undefined ? this.#cached.find(scope, key) : undefined;
    if (known !== undefined) return Promise.resolve(known.item);
    return this.#cached.read(
      () => this.#call("get", { scope, key }, { bytes: nameBytes({ scope, key }) }),
      (found, remember) => {
        const item = onWallClock(found, this.#skewMs());
        remember(scope, key, item);
        return item;
      },
    );
  }

  getMany(scope: string, keys: readonly string[]): Promise<readonly (Item | undefined)[]> {
    const bytes = keys.reduce((sum, key) => sum + nameBytes({ scope, key }), 0);
    return this.#cached.read(
      () => this.#call("getMany", { scope, keys }, { bytes }),
      (found, remember) => {
        const items = found.map((item) => onWallClock(item, this.#skewMs()));
        for (const [index, key] of keys.entries()) remember(scope, key, items[index]);
        return items;
      },
    );
  }

  set(scope: string, key: string, value: ItemValue, write: ItemWrite): Promise<ItemWritten | Conflict> {
    const address = { scope, key };
    const input = setInput(address, value, write, this.#how());
    return this.#cached.write(
      [address],
      () =>
        this.#call("set", input, {
          bytes: writeBytes(address, write) + value.bytes,
          mark: write.mark,
        }),
      (output, remember) => {
        if (output.status === "conflict") return output;
        const answer = setResult(address, value, write, output);
        remember(scope, key, answer.item);
        return answer;
      },
    );
  }

  update(
    scope: string,
    key: string,
    { ops, atomic, maxBytes, expiresAt }: ItemUpdate,
    write: ItemWrite,
  ): Promise<ItemUpdated | Conflict> {
    const address = { scope, key };
    const skewMs = this.#skewMs();
    const opsJson = JSON.stringify(ops);
    const input = {
      ...writeInput(address, write, this.#isShared),
      opsJson,
      atomic,
      maxBytes,
      ...(expiresAt === undefined ? undefined : { expiresAt: expiresAt === "keep" ? expiresAt : expiresAt - skewMs }),
    };
    return this.#cached.write(
      [address],
      () => this.#call("update", input, { bytes: writeBytes(address, write) + 2 * opsJson.length, mark: write.mark }),
      (output, remember) => {
        if (output.status === "conflict") return output;
        const answer = updateResult(address, write, output, this.#skewMs());
        remember(scope, key, answer.item);
        return answer;
      },
    );
  }

  delete(scope: string, key: string, write: ItemWrite): Promise<ItemWritten | Conflict> {
    const address = { scope, key };
    return this.#cached.write(
      [address],
      () =>
        this.#call("delete", writeInput(address, write, this.#isShared), {
          bytes: writeBytes(address, write),
          mark: write.mark,
        }),
      (output, remember) => {
        if (output.status === "conflict") return output;
        remember(scope, key, undefined);
        return deleteResult(address, write, output);
      },
    );
  }

  writeMany(writes: readonly BatchedWrite[]): Promise<BatchResult> {
    const inputs = writes.map((one) => oneInput(one, this.#how()));
    const bytes = writes.reduce(
      (sum, one) => sum + writeBytes(one, one.write) + (one.type === "set" ? one.value.bytes : 0),
      0,
    );
    return this.#cached.write(
      writes,
      () => this.#call("writeMany", inputs, { bytes, mark: writes.map(({ write }) => write.mark) }),
      (output, remember) => manyAnswer(writes, output, remember),
    );
  }

  onApplied(listener: (applied: AppliedItem) => void): Undo {
    return this.#listeners.add(listener);
  }

  list(scope: string, { maxBytes }: { readonly maxBytes: number }): Promise<Listing> {
    return this.#cached.read(
      () => this.#call("list", { scope, maxBytes }),
      (answer) => answer,
    );
  }

  page(scope: string, { prefix, after, limit, maxBytes }: PageRequest): Promise<ItemPage> {
    return this.#cached.read(
      () => this.#call("page", { scope, prefix, after, limit, maxBytes }),
      (page) => {
        const skewMs = this.#skewMs();
        return skewMs === 0 ? page : { ...page, items: page.items.map((item) => onWallClock(item, skewMs)) };
      },
    );
  }

  scopes({ prefix }: { readonly prefix: string }): Promise<readonly string[]> {
    return this.#call("scopes", prefix);
  }

  groups({ prefix, after, limit }: Omit<PageRequest, "maxBytes">): Promise<GroupPage> {
    return this.#call("groups", { prefix, after, limit });
  }

  expired(now: number, limit: number): Promise<readonly ExpiredItem[]> {
    return this.#call("expired", { now: now - this.#skewMs(), limit });
  }

  async nextExpiry(): Promise<number | undefined> {
    const next = await this.#call("nextExpiry", null);
    return next === undefined ? undefined : next + this.#skewMs();
  }

  async snapshot(file: string): Promise<{ readonly bytes: number }> {
    if (this.#closing !== undefined) throw closingError();
    // Wait for earlier writes, so that the snapshot contains them.
    await this.#call("nextExpiry", null);
    const written = snapshotDatabase({
      file: this.#file,
      target: file,
      clock: this.#clock,
      signal: this.#ending.signal,
    });
    this.#snapshots.add(written);
    try {
      return await written;
    } finally {
      this.#snapshots.delete(written);
    }
  }

  problem(): string | undefined {
    return this.#store.problem();
  }

  damage(): string | undefined {
    return this.#store.damage();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * Returns how far the wall clock is ahead of the store's time. Clears the cache if that has changed, because cached
   * items have their expiry times on the wall clock.
   */
  #skewMs(): number {
    const skewMs = this.#store.skewMs();
    if (skewMs !== this.#lastSkewMs) {
      this.#lastSkewMs = skewMs;
      this.#cached.clear();
    }
    return skewMs;
  }

  #how(): How {
    return { skewMs: this.#skewMs(), isShared: this.#isShared };
  }

  #now(): number {
    this.#skewMs();
    return this.#clock.now();
  }

  async #close(): Promise<void> {
    const cancel = this.#clock.after(SNAPSHOT_CLOSE_MS, () => this.#ending.abort());
    await Promise.allSettled(this.#snapshots);
    cancel();
    await this.#store.close();
    this.#cached.clear();
    this.#onClosed();
  }
}

function closingError(): CallError {
  return new CallError("draining", "the item store is closing and accepts no more requests");
}

function manyAnswer(
  writes: readonly BatchedWrite[],
  output: ManyOutput,
  remember: (scope: string, key: string, item: Item | undefined) => void,
): BatchResult {
  if (output.status === "conflict") return output;
  const answers = writes.map((one, index) => {
    const done = output.writes[index] ?? { status: "unchanged" as const };
    const answer = one.type === "set" ? setResult(one, one.value, one.write, done) : deleteResult(one, one.write, done);
    remember(one.scope, one.key, answer.item);
    return answer;
  });
  return { status: "written", writes: answers };
}

/**
 * How the inputs of procedures are made. `skewMs`: how far the wall clock is ahead of the store's time. `isShared`:
 * true if the store finds the watchers of a write, not the writer.
 */
interface How {
  readonly skewMs: number;
  readonly isShared: boolean;
}

// Members without a value are omitted in these inputs, because copying each member between the threads takes time.
function writeInput({ scope, key }: ItemAddress, { now, ifVersion, notice }: ItemWrite, isShared: boolean): WriteInput {
  const input: { -readonly [Member in keyof WriteInput]: WriteInput[Member] } = { scope, key, now };
  if (ifVersion !== undefined) input.ifVersion = ifVersion;
  addNotice(input, notice, isShared);
  return input;
}

function setInput(
  { scope, key }: ItemAddress,
  { json, bytes, expiresAt }: ItemValue,
  { now, ifVersion, leastVersion, notice }: ItemWrite,
  { skewMs, isShared }: How,
): SetInput {
  const input: { -readonly [Member in keyof SetInput]: SetInput[Member] } = { scope, key, now, json, bytes };
  if (ifVersion !== undefined) input.ifVersion = ifVersion;
  if (leastVersion !== undefined) input.leastVersion = leastVersion;
  addNotice(input, notice, isShared);
  if (expiresAt !== undefined) input.expiresAt = expiresAt - skewMs;
  return input;
}

function addNotice(
  input: { notice?: WriteInput["notice"]; isShared?: true },
  notice: ItemWrite["notice"],
  isShared: boolean,
): void {
  if (isShared) input.isShared = true;
  if (notice !== undefined && (isShared || notice.watchers.length > 0)) input.notice = noticeInput(notice);
}

function oneInput(one: BatchedWrite, how: How): OneInput {
  return one.type === "set"
    ? Object.assign(setInput(one, one.value, one.write, how), { type: one.type })
    : Object.assign(writeInput(one, one.write, how.isShared), { type: one.type });
}

function nameBytes({ scope, key }: ItemAddress): number {
  return 2 * (scope.length + key.length);
}

function writeBytes(address: ItemAddress, { notice }: ItemWrite): number {
  if (notice === undefined) return nameBytes(address);
  return notice.watchers.reduce(
    (sum, { id }) => sum + 2 * id.length + 64,
    nameBytes(address) + 2 * notice.origin.length,
  );
}
