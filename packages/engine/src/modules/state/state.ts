import { CallError, Payload } from "@svc/protocol";
import type { Conflict, Item, ItemStore, ItemValue, ItemWrite } from "../../items/item-store.ts";
import type { Clock } from "../../kernel/clock.ts";

/** Most bytes of values in one answer: with the envelope they fit one frame of 16 MiB. */
const MAX_LIST_BYTES = 15 * 1024 * 1024;
/** A page ends early rather than exceed this. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

export interface ItemAddress {
  readonly scope: string;
  readonly key: string;
}

export interface StateOptions {
  readonly adapter: ItemStore;
  readonly clock: Clock;
  /** Largest value, in bytes of its JSON. */
  readonly maxValueBytes: number;
}

/** What the functions `state::*` do, on any adapter. Values pass through as JSON text; answers are put together from that text. */
export class State {
  readonly #adapter: ItemStore;
  readonly #clock: Clock;
  readonly #maxValueBytes: number;

  constructor(options: StateOptions) {
    this.#adapter = options.adapter;
    this.#clock = options.clock;
    this.#maxValueBytes = options.maxValueBytes;
  }

  /** The value, or null. */
  async get({ scope, key }: ItemAddress): Promise<Payload> {
    return valueOrNull((await this.#adapter.get(scope, key))?.json);
  }

  /** `{old_value, new_value, version}`. Throws `state_conflict`, `payload_too_large`, `invalid_input`, and what the adapter throws. */
  async set({ scope, key, value, ifVersion }: ItemAddress & { readonly value: unknown; readonly ifVersion: number | undefined }): Promise<Payload> {
    const newValue = this.#toStore(value);
    const written = await this.#adapter.set(scope, key, newValue, this.#write(ifVersion));
    if (written.status === "conflict") throw conflict({ scope, key }, ifVersion, written);
    return Payload.fromText(`{"old_value":${written.previous ?? "null"},"new_value":${newValue.json},"version":${written.item?.version}}`);
  }

  /** The value that was there, or null. Throws `state_conflict`. */
  async delete({ scope, key, ifVersion }: ItemAddress & { readonly ifVersion: number | undefined }): Promise<Payload> {
    const removed = await this.#adapter.delete(scope, key, this.#write(ifVersion));
    if (removed.status === "conflict") throw conflict({ scope, key }, ifVersion, removed);
    return valueOrNull(removed.previous);
  }

  /** The scope's values, in the order of their keys. Throws `payload_too_large` when they do not fit one answer. */
  async list({ scope }: { readonly scope: string }): Promise<Payload> {
    const listing = await this.#adapter.list(scope, { maxBytes: MAX_LIST_BYTES });
    if (listing.status === "complete") return Payload.fromText(`[${listing.values.join(",")}]`);
    const message = `scope ${JSON.stringify(scope)} holds ${listing.bytes} bytes in ${listing.items} values; one answer holds ${MAX_LIST_BYTES}. Read it in pages with state::entries`;
    throw new CallError("payload_too_large", message, { details: { bytes: listing.bytes, limit: MAX_LIST_BYTES, items: listing.items } });
  }

  /** `{items, cursor, total}`. Throws `invalid_input` for a cursor that is not one of ours. */
  async entries(request: { readonly scope: string; readonly prefix: string; readonly cursor: string | undefined; readonly limit: number }): Promise<Payload> {
    const { scope, prefix, limit } = request;
    const after = request.cursor === undefined ? undefined : keyOfCursor(request.cursor);
    const page = await this.#adapter.page(scope, { prefix, after, limit, maxBytes: MAX_PAGE_BYTES });
    const last = page.items[page.items.length - 1];
    const cursor = page.more && last !== undefined ? JSON.stringify(cursorOfKey(last.key)) : "null";
    return Payload.fromText(`{"items":[${page.items.map(entryJson).join(",")}],"cursor":${cursor},"total":${page.total}}`);
  }

  /** `{key, value, version, updated_at, bytes}`, or null. */
  async getEntry({ scope, key }: ItemAddress): Promise<Payload> {
    const item = await this.#adapter.get(scope, key);
    return valueOrNull(item === undefined ? undefined : entryJson(item));
  }

  /** `{groups}`: the scopes that hold something, in order. */
  async listGroups(): Promise<{ readonly groups: readonly string[] }> {
    return { groups: await this.#adapter.scopes({ prefix: "" }) };
  }

  #write(ifVersion: number | undefined): ItemWrite {
    return { now: this.#clock.now(), ifVersion, notice: undefined };
  }

  #toStore(value: unknown): ItemValue {
    const json = jsonOf(value);
    const bytes = Buffer.byteLength(json);
    if (bytes > this.#maxValueBytes) {
      const message = `the value is ${bytes} bytes of JSON; at most ${this.#maxValueBytes} are allowed (max_value_bytes of svc-state)`;
      throw new CallError("payload_too_large", message, { details: { bytes, limit: this.#maxValueBytes } });
    }
    return { json, bytes, expiresAt: undefined };
  }
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    // What came as JSON can be written as JSON, but for its depth: writing needs stack for each level.
    throw new CallError("invalid_input", `\`value\`: cannot be written as JSON, it may be nested too deeply (${(cause as Error).message})`, { cause });
  }
}

function valueOrNull(json: string | undefined): Payload {
  return json === undefined ? Payload.null : Payload.fromText(json);
}

function entryJson(item: Item): string {
  const updatedAt = new Date(item.updatedAt).toISOString();
  return `{"key":${JSON.stringify(item.key)},"value":${item.json},"version":${item.version},"updated_at":"${updatedAt}","bytes":${item.bytes}}`;
}

function conflict({ scope, key }: ItemAddress, expected: number | undefined, { actual }: Conflict): CallError {
  const found = actual === 0 ? "it does not exist" : `it has version ${actual}`;
  const wanted = expected === 0 ? "must not exist yet" : `was expected at version ${expected}`;
  return new CallError("state_conflict", `${JSON.stringify(key)} in scope ${JSON.stringify(scope)} ${wanted}, but ${found}; nothing was written`, {
    details: { expected, actual },
  });
}

/** A cursor is the last key of the page before. What opens it tells a cursor from other text, and a later form of cursor from this one. */
const CURSOR_OPENING = "k1:";

function cursorOfKey(key: string): string {
  return Buffer.from(CURSOR_OPENING + key).toString("base64url");
}

function keyOfCursor(cursor: string): string {
  const text = Buffer.from(cursor, "base64url").toString();
  if (text.startsWith(CURSOR_OPENING) && cursorOfKey(text.slice(CURSOR_OPENING.length)) === cursor) return text.slice(CURSOR_OPENING.length);
  throw new CallError("invalid_input", "`cursor`: is not a cursor; send the one that the page before answered, or none for the first page");
}
