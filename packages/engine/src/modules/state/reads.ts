import { CallError, Payload } from "@svc-runtime/protocol";
import { entryJson } from "../../items/entry-json.ts";
import type { GroupSize, Item, ItemStore } from "../../items/item-store.ts";
import { cursorOfKey, keyOfCursor } from "../../items/page-cursor.ts";
import { valueOrNull } from "./results.ts";

/** Maximum size of the values in a response, in bytes. Together with the envelope they fit in a frame of 16 MiB. */
const MAX_LIST_BYTES = 15 * 1024 * 1024;
/** Maximum size of the values in a page, in bytes. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

interface PageInput {
  readonly prefix: string;
  readonly cursor?: string | null | undefined;
  readonly limit: number;
}

/** Read operations of the functions `state::*`. */
export class Reads {
  readonly #store: ItemStore;

  constructor(store: ItemStore) {
    this.#store = store;
  }

  /** Returns the value, or null. */
  async get({ scope, key }: { readonly scope: string; readonly key: string }): Promise<Payload> {
    return valueOrNull((await this.#store.get(scope, key))?.json);
  }

  /** Returns `{key, value, version, updated_at, bytes, expires_at?}`, or null. */
  async getEntry({ scope, key }: { readonly scope: string; readonly key: string }): Promise<Payload> {
    return Payload.fromText(entryOrNull(await this.#store.get(scope, key)));
  }

  /** Returns `{items}`: an entry or null for each key. Throws `payload_too_large` if they do not fit in a response. */
  async getMany({ scope, keys }: { readonly scope: string; readonly keys: readonly string[] }): Promise<Payload> {
    const items = await this.#store.getMany(scope, keys);
    const bytes = items.reduce((sum, item) => sum + (item?.bytes ?? 0), 0);
    if (bytes > MAX_LIST_BYTES)
      throw tooLarge(
        `the ${keys.length} keys of scope ${JSON.stringify(scope)} hold`,
        bytes,
        "Request fewer keys at once",
      );
    return Payload.fromText(`{"items":[${items.map(entryOrNull).join(",")}]}`);
  }

  /** Returns the scope's values, sorted by key. Throws `payload_too_large` if they do not fit in a response. */
  async list({ scope }: { readonly scope: string }): Promise<Payload> {
    const listing = await this.#store.list(scope, { maxBytes: MAX_LIST_BYTES });
    if (listing.status === "complete") return Payload.fromText(`[${listing.values.join(",")}]`);
    throw tooLarge(
      `the ${listing.items} values of scope ${JSON.stringify(scope)} hold`,
      listing.bytes,
      "Read them in pages with state::entries",
    );
  }

  /** Returns `{items, cursor, total}`. Throws `invalid_input` for an invalid cursor. */
  async entries({ scope, prefix, cursor, limit }: PageInput & { readonly scope: string }): Promise<Payload> {
    const page = await this.#store.page(scope, { prefix, after: keyBehind(cursor), limit, maxBytes: MAX_PAGE_BYTES });
    const next = nextCursor(page.more, page.items[page.items.length - 1]?.key);
    return Payload.fromText(
      `{"items":[${page.items.map((item) => entryJson(item)).join(",")}],"cursor":${JSON.stringify(next)},"total":${page.total}}`,
    );
  }

  /** Returns `{groups}`: the non-empty scopes, sorted. */
  async listGroups(): Promise<{ readonly groups: readonly string[] }> {
    return { groups: await this.#store.scopes({ prefix: "" }) };
  }

  /** Returns `{items: [{scope, items, bytes}], cursor, total}`. Throws `invalid_input` for an invalid cursor. */
  async groups({ prefix, cursor, limit }: PageInput): Promise<{
    readonly items: readonly GroupSize[];
    readonly cursor: string | null;
    readonly total: number;
  }> {
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
  const message = `${what} ${bytes} bytes; the maximum per response is ${MAX_LIST_BYTES}. ${advice}`;
  return new CallError("payload_too_large", message, { details: { bytes, limit: MAX_LIST_BYTES } });
}
