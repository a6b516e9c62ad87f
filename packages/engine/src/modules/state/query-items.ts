import { setImmediate as nextTurn } from "node:timers/promises";
import { CallError, Payload } from "@svc-runtime/protocol";
import { problemText, readStateQuery, type StateQuery } from "@svc-runtime/protocol/query";
import { itemLine } from "../../items/entry-json.ts";
import type { Item, ItemStore } from "../../items/item-store.ts";
import { cursorOfKey, keyOfCursor } from "../../items/page-cursor.ts";

/**
 * Maximum items, scopes and bytes that one call reads. The last value may exceed the bytes by up to 8 MiB. The response
 * then still fits in 16 MiB.
 */
const MAX_SCANNED = 10_000;
const MAX_SCOPES = 200;
const MAX_BYTES = 6 * 1024 * 1024;
/** Small, because the items of a page are tested in one turn of the event loop. */
const PAGE_ITEMS = 200;
const PAGE_BYTES = 1024 * 1024;
const SCOPES_PER_PAGE = 100;
/** Scopes of the engine and the console begin with this. */
const SYSTEM_PREFIX = "__";

interface QueryInput {
  readonly query: string;
  readonly scope?: string | undefined;
  readonly prefix: string;
  readonly cursor?: string | null | undefined;
  readonly limit: number;
  readonly exclude_system: boolean;
}

/** The last item that was read. If `key` is missing, all items of the scope were read. */
interface Position {
  readonly scope: string;
  readonly key?: string;
}

/**
 * Returns `{items, cursor, scanned}`. Stops at `limit` matching items, or when it has read as much as one call may; the
 * cursor is null if there are no more items. Throws `invalid_input` for an invalid query or cursor.
 */
export async function queryItems(
  store: ItemStore,
  { query: text, scope, prefix, cursor, limit, exclude_system: excludeSystem }: QueryInput,
  nowMs: number,
  signal: AbortSignal,
): Promise<Payload> {
  const { query, problems } = readStateQuery(text);
  if (problems[0] !== undefined) throw new CallError("invalid_input", `\`query\`: ${problemText(problems[0])}`);
  const found: string[] = [];
  let [scanned, scopes, bytes] = [0, 0, 0];
  let next: Position | undefined;
  const from = cursor == null ? undefined : positionOf(cursor);
  const only = scope ?? query.scope;
  if (from !== undefined && only !== undefined && from.scope !== only)
    throw new CallError("invalid_input", `\`cursor\`: is of scope ${from.scope}, not of ${only}`);
  for await (const { scope: each, item } of itemsOf(store, { scope, prefix, query, from, excludeSystem }, signal)) {
    if (item === undefined) scopes += 1;
    else {
      scanned += 1;
      bytes += item.bytes;
      if (query.matches(candidate(each, item), nowMs)) found.push(itemLineWithBytes(each, item));
    }
    if (found.length < limit && scanned < MAX_SCANNED && scopes < MAX_SCOPES && bytes < MAX_BYTES) continue;
    next = item === undefined ? { scope: each } : { scope: each, key: item.key };
    break;
  }
  const end = next === undefined ? null : cursorOfKey(JSON.stringify([next.scope, next.key]));
  return Payload.fromText(`{"items":[${found.join(",")}],"cursor":${JSON.stringify(end)},"scanned":${scanned}}`);
}

interface Range {
  readonly scope: string | undefined;
  readonly prefix: string;
  readonly query: StateQuery;
  /** Last position of the previous page. */
  readonly from: Position | undefined;
  readonly excludeSystem: boolean;
}

/** Yields the items of the range. After the last item of a scope, yields the scope with `item` undefined. */
async function* itemsOf(
  store: ItemStore,
  { scope, prefix, query, from, excludeSystem }: Range,
  signal: AbortSignal,
): AsyncGenerator<{ readonly scope: string; readonly item: Item | undefined }> {
  const keys = longerPrefix(prefix, query.prefix ?? "");
  if (keys === undefined || (scope !== undefined && query.scope !== undefined && scope !== query.scope)) return;
  for await (const each of scopesFrom(store, scope ?? query.scope, from)) {
    if (excludeSystem && each.startsWith(SYSTEM_PREFIX)) continue;
    let after = from?.scope === each ? from.key : undefined;
    for (let more = true; more; ) {
      const page = await store.page(each, { prefix: keys, after, limit: PAGE_ITEMS, maxBytes: PAGE_BYTES });
      await pause(signal);
      for (const item of page.items) yield { scope: each, item };
      after = page.items.at(-1)?.key;
      more = page.more && after !== undefined;
    }
    yield { scope: each, item: undefined };
  }
}

/** Lets the engine do other work, because a store may respond without a wait. Rejects if the call was cancelled. */
async function pause(signal: AbortSignal): Promise<void> {
  await nextTurn();
  signal.throwIfAborted();
}

function candidate(
  scope: string,
  { key, json, version, bytes, updatedAt }: Item,
): Parameters<StateQuery["matches"]>[0] {
  return { scope, key, json, version, bytes, updatedAtMs: updatedAt };
}

function itemLineWithBytes(scope: string, item: Item): string {
  return `${itemLine(scope, item).slice(0, -1)},"bytes":${item.bytes}}`;
}

/** Returns the longer of two prefixes; undefined if no key can have both. */
function longerPrefix(one: string, other: string): string | undefined {
  if (one.startsWith(other)) return one;
  return other.startsWith(one) ? other : undefined;
}

/** Yields the scopes to read, in order, from the position on. */
async function* scopesFrom(
  store: ItemStore,
  only: string | undefined,
  position: Position | undefined,
): AsyncGenerator<string> {
  if (position?.key !== undefined) yield position.scope;
  else if (only !== undefined && position === undefined) yield only;
  if (only !== undefined) return;
  let after = position?.scope;
  for (let more = true; more; ) {
    const page = await store.groups({ prefix: "", after, limit: SCOPES_PER_PAGE });
    for (const { scope } of page.groups) yield scope;
    after = page.groups.at(-1)?.scope ?? after;
    more = page.more;
  }
}

function positionOf(cursor: string): Position {
  try {
    const parts = JSON.parse(keyOfCursor(cursor)) as unknown;
    if (Array.isArray(parts) && typeof parts[0] === "string")
      return typeof parts[1] === "string" ? { scope: parts[0], key: parts[1] } : { scope: parts[0] };
  } catch (error) {
    if (CallError.is(error)) throw error;
  }
  throw new CallError("invalid_input", "`cursor`: is not a cursor of this function");
}
