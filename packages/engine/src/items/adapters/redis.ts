import { CallError } from "@svc-runtime/protocol";
import type { Clock } from "../../kernel/clock.ts";
import { IntervalClock } from "../../kernel/interval-clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Undo } from "../../kernel/scope.ts";
import { itemName } from "../item-cache.ts";
import { ItemListeners } from "../item-listeners.ts";
import type * as Items from "../item-store.ts";
import { type ItemStore, MAX_MANY_BYTES } from "../item-store.ts";
import { compareKeys, endOfPrefix } from "../key-order.ts";
import { isExpired, manyTooLargeText } from "../plan-write.ts";
import { writeSnapshotLines } from "../snapshot-lines.ts";
import { allItems } from "./redis/all-items.ts";
import { RedisConnection, type RequestHandle, type Settle } from "./redis/connection.ts";
import { KeyedLocks } from "./redis/keyed-locks.ts";
import { RedisOutbox } from "./redis/outbox.ts";
import { ownerOf } from "./redis/owner.ts";
import { itemOf } from "./redis/record.ts";
import { type Script, scripts } from "./redis/script.ts";
import { updateItem } from "./redis/update.ts";
import { refusalOf, type WriteContext, type WriteReply, writeArguments, writeBytes, writtenOf } from "./redis/write.ts";

export interface RedisItemsOptions {
  /** URL with `redis://` or `rediss://` (TLS), optionally with credentials and database number. */
  readonly url: string;
  /** Prefix of all keys. Must be unique among item stores. */
  readonly keyPrefix: string;
  /** Absolute path of the data folder. It contains the file with the owner name of this engine's deliveries. */
  readonly dataDir: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** Timeout of each request, in milliseconds. Default 10,000. */
  readonly requestTimeoutMs?: number;
  /** Timeout of connecting, in milliseconds. Default 10,000. */
  readonly connectTimeoutMs?: number;
}

type ManyReply = readonly ["done" | "too_large", ...(string | null)[]];

/**
 * Opens an item store in a Redis server, which several engines may share. Rejects with an Error that says why the
 * server cannot be used.
 */
export async function openRedisItems(options: RedisItemsOptions): Promise<ItemStore> {
  const owner = ownerOf(options.dataDir);
  const connection = new RedisConnection({
    url: options.url,
    probeKey: `${options.keyPrefix}probe`,
    log: options.log,
    clock: options.clock,
    requestTimeoutMs: options.requestTimeoutMs ?? 10_000,
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    maxRequests: 10_000,
    maxBytes: 64 * 1024 * 1024,
  });
  await connection.open();
  return new RedisItems(connection, options.keyPrefix, owner, options.clock);
}

/**
 * An item store in Redis. Results keep the order of writes, for three reasons: one connection sends all commands; each
 * write is one script; each call resolves in the event loop turn of its reply. An update reads the item, applies its
 * operations in this process, and writes the result if the version has not changed. Meanwhile, other calls on the item
 * wait.
 */
class RedisItems implements ItemStore {
  readonly outbox: RedisOutbox;
  readonly #connection: RedisConnection;
  readonly #prefix: string;
  readonly #owner: string;
  readonly #clock: IntervalClock;
  /**
   * Total adjustment of the wall clock since the start, in milliseconds. It is added to stored expiry times when they
   * are read. They are not shifted in Redis, because other engines use them too.
   */
  #setByMs = 0;
  readonly #locks = new KeyedLocks();
  readonly #listeners = new ItemListeners();

  constructor(connection: RedisConnection, prefix: string, owner: string, clock: Clock) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#owner = owner;
    this.#clock = new IntervalClock(clock, (byMs) => {
      this.#setByMs += byMs;
    });
    this.outbox = new RedisOutbox(connection, prefix, owner);
  }

  get durability(): Items.Durability {
    return this.#connection.durability;
  }

  get(scope: string, key: string): Promise<Items.Item | undefined> {
    return this.#connection.request<Items.Item | undefined>(0, (request, settle) =>
      this.#locks.acquire([itemName(scope, key)], (release) => {
        request.command("HGET", [`${this.#prefix}items:${scope}`, key], (error, reply) => {
          if (error === undefined) settle.resolve(this.#alive(key, reply as string | null));
          else settle.reject(error);
        });
        // Released at once, because later commands on the connection run after this one anyway.
        release();
      }),
    );
  }

  getMany(scope: string, keys: readonly string[]): Promise<readonly (Items.Item | undefined)[]> {
    return this.#connection.request<readonly (Items.Item | undefined)[]>(0, (request, settle) =>
      this.#locks.acquire(
        keys.map((key) => itemName(scope, key)),
        (release) => {
          request.run(scripts.getMany, [this.#prefix, scope, MAX_MANY_BYTES, ...keys], (error, reply) => {
            if (error === undefined) settle.resolve(this.#manyOf(keys, reply as ManyReply));
            else settle.reject(error);
          });
          release();
        },
      ),
    );
  }

  set(
    scope: string,
    key: string,
    value: Items.ItemValue,
    write: Items.ItemWrite,
  ): Promise<Items.ItemWritten | Items.Conflict> {
    return this.#writeOne({ type: "set", scope, key, value, write });
  }

  delete(scope: string, key: string, write: Items.ItemWrite): Promise<Items.ItemWritten | Items.Conflict> {
    return this.#writeOne({ type: "delete", scope, key, write });
  }

  update(
    scope: string,
    key: string,
    update: Items.ItemUpdate,
    write: Items.ItemWrite,
  ): Promise<Items.ItemUpdated | Items.Conflict> {
    return this.#connection.request<Items.ItemUpdated | Items.Conflict>(
      2 * (scope.length + key.length),
      (request, settle) =>
        this.#locks.acquire([itemName(scope, key)], (release) =>
          updateItem(
            { scope, key, update, write },
            {
              ...this.#writeContext(),
              request,
              settle: {
                resolve: (outcome) => {
                  if (outcome.status !== "conflict") this.#listeners.reportOwn(outcome, write);
                  settle.resolve(outcome);
                },
                reject: settle.reject,
              },
              release,
            },
          ),
        ),
    );
  }

  writeMany(writes: readonly Items.BatchedWrite[]): Promise<Items.BatchResult> {
    if (writes.length === 0) return Promise.resolve({ status: "written", writes: [] });
    return this.#write(writes, (reply, setByMs): Items.BatchResult => {
      if (reply[0] === "conflict") return { status: "conflict", index: Number(reply[1]), actual: Number(reply[2]) };
      if (reply[0] !== "done") throw refusalOf(reply);
      const [, ...replies] = reply;
      const written = replies.map((one, index) => writtenOf(nth(writes, index), one, setByMs));
      for (const [index, one] of written.entries()) this.#listeners.reportOwn(one, nth(writes, index).write);
      return { status: "written", writes: written };
    });
  }

  onApplied(listener: (applied: Items.AppliedItem) => void): Undo {
    return this.#listeners.add(listener);
  }

  list(scope: string, options: { readonly maxBytes: number }): Promise<Items.Listing> {
    return this.#run(scripts.list, [scope, this.#endsNow(), options.maxBytes], (reply) => {
      const [status, ...rest] = reply as readonly ["done" | "too_large", ...string[]];
      if (status === "too_large") return { status, items: Number(rest[0]), bytes: Number(rest[1]) };
      return { status: "complete", values: rest.map((record) => itemOf("", record, 0).json) };
    });
  }

  page(scope: string, { prefix, after, limit, maxBytes }: Items.PageRequest): Promise<Items.ItemPage> {
    return this.#run(scripts.page, [scope, this.#endsNow(), limit, maxBytes, ...rangeOf(prefix, after)], (reply) => {
      const [total, more, ...found] = reply as readonly string[];
      const items = Array.from({ length: found.length / 2 }, (_, index) =>
        itemOf(nth(found, 2 * index), nth(found, 2 * index + 1), this.#setByMs),
      );
      return { items, more: more === "1", total: Number(total) };
    });
  }

  scopes({ prefix }: { readonly prefix: string }): Promise<readonly string[]> {
    const [from, to] = rangeOf(prefix, undefined);
    return this.#connection.request<readonly string[]>(0, (request, settle) =>
      request.command("ZRANGEBYLEX", [`${this.#prefix}scopes`, from, to], (error, reply) => {
        if (error === undefined) settle.resolve(reply as readonly string[]);
        else settle.reject(error);
      }),
    );
  }

  groups({ prefix, after, limit }: Omit<Items.PageRequest, "maxBytes">): Promise<Items.GroupPage> {
    return this.#run(scripts.groups, [limit, ...rangeOf(prefix, after)], (reply) => {
      const [total, more, ...found] = reply as readonly [string, string, ...(readonly [string, string, string])[]];
      return {
        groups: found.map(([scope, items, bytes]) => ({ scope, items: Number(items), bytes: Number(bytes) })),
        more: more === "1",
        total: Number(total),
      };
    });
  }

  expired(now: number, limit: number): Promise<readonly Items.ExpiredItem[]> {
    this.#clock.now();
    return this.#run(scripts.expired, [now - this.#setByMs, limit], (reply) =>
      (reply as readonly (readonly [string, string, string])[]).map(([scope, key, version]) => ({
        scope,
        key,
        version: Number(version),
      })),
    );
  }

  nextExpiry(): Promise<number | undefined> {
    return this.#connection.request<number | undefined>(0, (request, settle) =>
      request.command("ZRANGE", [`${this.#prefix}expiry`, 0, 0, "WITHSCORES"], (error, reply) => {
        const [, score] = (reply ?? []) as readonly string[];
        this.#clock.now();
        if (error === undefined) settle.resolve(score === undefined ? undefined : Number(score) + this.#setByMs);
        else settle.reject(error);
      }),
    );
  }

  snapshot(file: string): Promise<{ readonly bytes: number }> {
    return writeSnapshotLines(file, allItems(this));
  }

  problem(): string | undefined {
    return this.#connection.problem();
  }

  damage(): undefined {
    return undefined;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #writeOne(one: Items.BatchedWrite): Promise<Items.ItemWritten | Items.Conflict> {
    return this.#write([one], (reply, setByMs): Items.ItemWritten | Items.Conflict => {
      if (reply[0] === "conflict") return { status: "conflict", actual: Number(reply[2]) };
      if (reply[0] !== "done") throw refusalOf(reply);
      const { errors: _, ...written } = writtenOf(one, reply[1], setByMs);
      this.#listeners.reportOwn(written, one.write);
      return written;
    });
  }

  #write<T>(writes: readonly Items.BatchedWrite[], read: (reply: WriteReply, setByMs: number) => T): Promise<T> {
    return this.#connection.request<T>(writeBytes(writes), (request, settle) =>
      this.#locks.acquire(
        writes.map(({ scope, key }) => itemName(scope, key)),
        (release) => {
          this.#send(request, settle, writes, read);
          release();
        },
      ),
    );
  }

  #send<T>(
    request: RequestHandle,
    settle: Settle<T>,
    writes: readonly Items.BatchedWrite[],
    read: (reply: WriteReply, setByMs: number) => T,
  ): void {
    if (request.isOver) return;
    const context = this.#writeContext();
    request.run(scripts.write, writeArguments(context, writes, undefined), (error, reply) => {
      if (error === undefined) settle.resolve(read(reply as WriteReply, context.setByMs));
      else settle.reject(error);
    });
  }

  #writeContext(): WriteContext {
    this.#clock.now();
    return { prefix: this.#prefix, owner: this.#owner, setByMs: this.#setByMs };
  }

  /** Returns the time with which stored expiry times must be compared. */
  #endsNow(): number {
    const now = this.#clock.now();
    return now - this.#setByMs;
  }

  #manyOf(keys: readonly string[], [status, ...records]: ManyReply): readonly (Items.Item | undefined)[] {
    if (status === "too_large") {
      const bytes = Number(records[0]);
      throw new CallError("payload_too_large", manyTooLargeText(bytes), { details: { bytes, limit: MAX_MANY_BYTES } });
    }
    return keys.map((key, index) => this.#alive(key, records[index] ?? null));
  }

  #run<T>(script: Script, args: readonly (string | number)[], read: (reply: unknown) => T): Promise<T> {
    return this.#connection.request<T>(0, (request, settle) =>
      request.run(script, [this.#prefix, ...args], (error, reply) => {
        if (error === undefined) settle.resolve(read(reply));
        else settle.reject(error);
      }),
    );
  }

  #alive(key: string, record: string | null): Items.Item | undefined {
    if (record === null) return undefined;
    const now = this.#clock.now();
    const item = itemOf(key, record, this.#setByMs);
    return isExpired(item, now) ? undefined : item;
  }
}

function nth<T>(list: readonly T[], index: number): T {
  const found = list[index];
  if (found === undefined)
    throw new Error(`Redis returned fewer than ${index + 1} entries; this is a bug in the engine`);
  return found;
}

/**
 * Returns the start and the end of a page, and the start of the prefix, in the syntax of ZRANGEBYLEX. Redis sorts by
 * UTF-8 bytes, which is the order of code points.
 */
function rangeOf(prefix: string, after: string | undefined): readonly [string, string, string] {
  const start = prefix === "" ? "-" : `[${prefix}`;
  const end = endOfPrefix(prefix);
  const isBehindStart = after !== undefined && compareKeys(after, prefix) >= 0;
  return [isBehindStart ? `(${after}` : start, end === undefined ? "+" : `(${end}`, start];
}
