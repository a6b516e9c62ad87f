import { CallError } from "@svc/protocol";
import type { Conflict, Durability, ItemStore, ItemUpdated, ItemValue, ItemWrite, ItemWritten, OneOfMany } from "../../items/item-store.ts";
import type { StoredJson } from "../../items/stored-json.ts";
import type { UpdateOp } from "../../items/update-op.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { ChangeListener, WriteOrigin } from "./change-listener.ts";

export interface ItemAddress {
  readonly scope: string;
  readonly key: string;
}

export interface WriteRequest extends ItemAddress {
  readonly ifVersion: number | undefined;
}

export interface SetRequest extends WriteRequest {
  readonly value: StoredJson;
  /** Milliseconds since 1970; undefined: it stays for ever. */
  readonly expiresAt: number | undefined;
}

export interface UpdateRequest extends WriteRequest {
  readonly ops: readonly UpdateOp[];
  readonly atomic: boolean;
  readonly maxBytes: number;
  readonly expiresAt: number | "keep";
}

export interface WritesOptions {
  readonly store: ItemStore;
  readonly clock: Clock;
  readonly listener: ChangeListener;
  /** Told of every item that was written with an end. */
  readonly onExpiry: (expiresAt: number) => void;
}

/**
 * The one way by which svc-state changes items: whoever listens to changes is asked before each write and told after it. A conflict with `ifVersion`
 * is thrown as `state_conflict`. What the store throws passes on, and so does `trigger_loop`.
 */
export class Writes {
  readonly #store: ItemStore;
  readonly #clock: Clock;
  readonly #listener: ChangeListener;
  readonly #onExpiry: (expiresAt: number) => void;

  constructor(options: WritesOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#listener = options.listener;
    this.#onExpiry = options.onExpiry;
  }

  get durability(): Durability {
    return this.#store.durability;
  }

  async set(request: SetRequest, origin: WriteOrigin): Promise<ItemWritten> {
    const { scope, key } = request;
    const write = this.#write(request, origin);
    return this.#settled(request, await this.#store.set(scope, key, itemValue(request), write), write);
  }

  async update(request: UpdateRequest, origin: WriteOrigin): Promise<ItemUpdated> {
    const { scope, key, ops, atomic, maxBytes, expiresAt } = request;
    const write = this.#write(request, origin);
    return this.#settled(request, await this.#store.update(scope, key, { ops, atomic, maxBytes, expiresAt }, write), write);
  }

  async delete(request: WriteRequest, origin: WriteOrigin): Promise<ItemWritten> {
    const write = this.#write(request, origin);
    return this.#settled(request, await this.#store.delete(request.scope, request.key, write), write);
  }

  /** All or none. Throws `state_conflict` with `details.index`. */
  async setMany(requests: readonly SetRequest[], origin: WriteOrigin): Promise<readonly ItemWritten[]> {
    const writes = requests.map((request): OneOfMany => {
      const { scope, key } = request;
      return { type: "set", scope, key, value: itemValue(request), write: this.#write(request, origin) };
    });
    const written = await this.#store.writeMany(writes);
    if (written.status === "conflict") throw conflictAt(written.index, requests[written.index], written.actual);
    return this.#allSettled(writes, written.writes);
  }

  /** Deletes what is there of the keys, all in one step. At most 1,000. Answers how many there were. */
  async deleteMany(scope: string, keys: readonly string[], origin: WriteOrigin): Promise<number> {
    const writes = keys.map((key): OneOfMany => ({ type: "delete", scope, key, write: this.#write({ scope, key, ifVersion: undefined }, origin) }));
    const written = await this.#store.writeMany(writes);
    if (written.status === "conflict") throw new CallError("storage_failed", "the store found a conflict where no version was asked for");
    return this.#allSettled(writes, written.writes).filter(({ previous }) => previous !== undefined).length;
  }

  #write({ scope, key, ifVersion }: WriteRequest, origin: WriteOrigin): ItemWrite {
    return { now: this.#clock.now(), ifVersion, notice: this.#listener.notice(scope, key, origin) };
  }

  #settled<Written extends ItemWritten>(request: WriteRequest, written: Written | Conflict, write: ItemWrite): Written {
    if (written.status === "conflict") throw conflict(request, written.actual);
    this.#publish(written, write);
    return written;
  }

  #allSettled(asked: readonly OneOfMany[], writes: readonly ItemWritten[]): readonly ItemWritten[] {
    for (const [index, written] of writes.entries()) this.#publish(written, asked[index]?.write);
    return writes;
  }

  #publish({ changes, item }: ItemWritten, write: ItemWrite | undefined): void {
    if (item?.expiresAt !== undefined) this.#onExpiry(item.expiresAt);
    if (changes.length > 0) this.#listener.changed(changes, write?.notice);
  }
}

function itemValue({ value: { json, bytes }, expiresAt }: SetRequest): ItemValue {
  return { json, bytes, expiresAt };
}

function conflict(request: WriteRequest, actual: number): CallError {
  return new CallError("state_conflict", `${conflictText(request, actual)}; nothing was written`, { details: { expected: request.ifVersion, actual } });
}

function conflictAt(index: number, request: WriteRequest | undefined, actual: number): CallError {
  const text = request === undefined ? "a version did not fit" : conflictText(request, actual);
  return new CallError("state_conflict", `\`items.${index}\`: ${text}; nothing was written`, {
    details: { index, expected: request?.ifVersion, actual },
  });
}

function conflictText({ scope, key, ifVersion }: WriteRequest, actual: number): string {
  const found = actual === 0 ? "it does not exist" : `it has version ${actual}`;
  const wanted = ifVersion === 0 ? "must not exist yet" : `was expected at version ${ifVersion}`;
  return `${JSON.stringify(key)} in scope ${JSON.stringify(scope)} ${wanted}, but ${found}`;
}
