import { CallError, Payload } from "@svc/protocol";
import { entryJson } from "../../items/entry-json.ts";
import type { GroupSize, Item, ItemStore } from "../../items/item-store.ts";
import { cursorOfKey, keyOfCursor } from "../../items/page-cursor.ts";
import { valueOrNull } from "./answers.ts";

/** Most bytes of values in one answer: with the envelope they fit one frame of 16 MiB. */
const MAX_LIST_BYTES = 15 * 1024 * 1024;
/** A page ends early rather than exceed this. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

interface PageInput {
  readonly prefix: string;
  readonly cursor?: string | null | undefined;
  readonly limit: number;
}

/** What the functions `state::*` read, on any adapter. */
export class Reads {
  readonly #store: ItemStore;

  constructor(store: ItemStore) {
    this.#store = store;
  }

  /** The value, or null. */
  async get({ scope, key }: { readonly scope: string; readonly key: string }): Promise<Payload> {
    return valueOrNull((await this.#store.get(scope, key))?.json);
  }

  /** `{key, value, version, updated_at, bytes, expires_at?}`, or null. */
  async getEntry({ scope, key }: { readonly scope: string; readonly key: string }): Promise<Payload> {
    return Payload.fromText(entryOrNull(await this.#store.get(scope, key)));
  }

  /** `{items}`: an entry or null for each key. Throws `payload_too_large` when they do not fit one answer. */
  async getMany({ scope, keys }: { readonly scope: string; readonly keys: readonly string[] }): Promise<Payload> {
    const items = await this.#store.getMany(scope, keys);
    const bytes = items.reduce((sum, item) => sum + (item?.bytes ?? 0), 0);
    if (bytes > MAX_LIST_BYTES) throw tooLarge(`the ${keys.length} keys of scope ${JSON.stringify(scope)} hold`, bytes, "Ask for fewer keys at once");
    return Payload.fromText(`{"items":[${items.map(entryOrNull).join(",")}]}`);
  }

  /** The scope's values, in the order of their keys. Throws `payload_too_large` when they do not fit one answer. */
  async list({ scope }: { readonly scope: string }): Promise<Payload> {
    const listing = await this.#store.list(scope, { maxBytes: MAX_LIST_BYTES });
    if (listing.status === "complete") return Payload.fromText(`[${listing.values.join(",")}]`);
    throw tooLarge(`the ${listing.items} values of scope ${JSON.stringify(scope)} hold`, listing.bytes, "Read them in pages with state::entries");
  }

  /** `{items, cursor, total}`. Throws `invalid_input` for a cursor that is not one of ours. */
  async entries({ scope, prefix, cursor, limit }: PageInput & { readonly scope: string }): Promise<Payload> {
    const page = await this.#store.page(scope, { prefix, after: keyBehind(cursor), limit, maxBytes: MAX_PAGE_BYTES });
    const next = nextCursor(page.more, page.items[page.items.length - 1]?.key);
    return Payload.fromText(`{"items":[${page.items.map((item) => entryJson(item)).join(",")}],"cursor":${JSON.stringify(next)},"total":${page.total}}`);
  }

  /** `{groups}`: the scopes that hold something, in order. */
  async listGroups(): Promise<{ readonly groups: readonly string[] }> {
    return { groups: await this.#store.scopes({ prefix: "" }) };
  }

  /** `{items: [{scope, items, bytes}], cursor, total}`. Throws `invalid_input` for a cursor that is not one of ours. */
  async groups({
    prefix,
    cursor,
    limit,
  }: PageInput): Promise<{ readonly items: readonly GroupSize[]; readonly cursor: string | null; readonly total: number }> {
    const { groups, more, total } = await this.#store.groups({ prefix, after: keyBehind(cursor), limit });
    return {
      items: groups.map(({ scope, items, bytes }) => ({ scope, items, bytes })),
      cursor: nextCursor(more, groups[groups.length - 1]?.scope),
      total,
    };
  }
}

function entryOrNull(item: Item | undefined): string {
  return item === undefined ? "null" : entryJson(item);
}

function keyBehind(cursor: string | null | undefined): string | undefined {
  return cursor == null ? undefined : keyOfCursor(cursor);
}

function nextCursor(more: boolean, last: string | undefined): string | null {
  return more && last !== undefined ? cursorOfKey(last) : null;
}

function tooLarge(what: string, bytes: number, advice: string): CallError {
  const message = `${what} ${bytes} bytes; one answer holds ${MAX_LIST_BYTES}. ${advice}`;
  return new CallError("payload_too_large", message, { details: { bytes, limit: MAX_LIST_BYTES } });
}
