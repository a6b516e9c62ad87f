// Runs in the store thread: no imports of the engine beyond the store itself.
import type { Database } from "../../store/driver.ts";
import { type ProcedureTable, read, write } from "../../store/procedures.ts";
import type { Conflict, Item, ItemPage, Listing, PageRequest } from "../item-store.ts";
import { compareKeys, endOfPrefix } from "../key-order.ts";

/**
 * `scopes.floor` is the highest version that was deleted in the scope, `shared_floor` that of scopes that are not remembered any more.
 * `bytes` stands before `json`, so that it is read without the pages of a large value.
 */
export const schema: readonly string[] = [
  `CREATE TABLE scopes (
     scope TEXT PRIMARY KEY,
     items INTEGER NOT NULL,
     floor INTEGER NOT NULL
   ) WITHOUT ROWID;
   CREATE INDEX empty_scopes ON scopes (floor) WHERE items = 0;
   CREATE TABLE items (
     id INTEGER PRIMARY KEY,
     scope TEXT NOT NULL,
     key TEXT NOT NULL,
     version INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     bytes INTEGER NOT NULL,
     json TEXT NOT NULL,
     UNIQUE (scope, key)
   );
   CREATE TABLE shared_floor (version INTEGER NOT NULL);
   INSERT INTO shared_floor VALUES (0)`,
];

/** Emptied scopes that are remembered one by one; what is beyond at the opening is remembered together. */
const MAX_EMPTY_SCOPES = 10_000;
/** SQLite orders every blob behind every text. */
const END_OF_KEYS = new Uint8Array(0);

export interface ItemName {
  readonly scope: string;
  readonly key: string;
}

export interface SetInput extends ItemName {
  readonly json: string;
  readonly bytes: number;
  readonly now: number;
  readonly ifVersion: number | undefined;
}

export interface DeleteInput extends ItemName {
  readonly ifVersion: number | undefined;
}

/** How a set ended; what the caller knows already is not sent back. */
export type SetOutput =
  | { readonly status: "written"; readonly previous: string | undefined; readonly version: number }
  | { readonly status: "unchanged"; readonly version: number; readonly updatedAt: number }
  | Conflict;

type Row = { readonly id: number; readonly version: number; readonly updated_at: number; readonly bytes: number; readonly json: string };
type KeyRow = { readonly key: string; readonly bytes: number };
type ItemRow = Row & { readonly key: string };

export function openProcedures(database: Database) {
  foldEmptyScopes(database);
  const one = database.prepare<Row>("SELECT id, version, updated_at, bytes, json FROM items WHERE scope = ? AND key = ?");
  const floorOf = database.prepare<{ readonly floor: number }>(
    "SELECT max(coalesce((SELECT floor FROM scopes WHERE scope = ?), 0), version) AS floor FROM shared_floor",
  );
  const insert = database.prepare("INSERT INTO items (scope, key, version, updated_at, bytes, json) VALUES (?, ?, ?, ?, ?, ?)");
  const update = database.prepare("UPDATE items SET version = ?, updated_at = ?, bytes = ?, json = ? WHERE id = ?");
  const remove = database.prepare("DELETE FROM items WHERE id = ?");
  const countUp = database.prepare("INSERT INTO scopes (scope, items, floor) VALUES (?, 1, 0) ON CONFLICT (scope) DO UPDATE SET items = items + 1");
  const countDown = database.prepare("UPDATE scopes SET items = items - 1, floor = max(floor, ?) WHERE scope = ?");
  const scopeNames = database.prepare<{ readonly scope: string }>("SELECT scope FROM scopes WHERE items > 0 ORDER BY scope");
  const sizeOf = database.prepare<{ readonly items: number; readonly bytes: number }>(
    "SELECT count(*) AS items, coalesce(sum(bytes), 0) AS bytes FROM items WHERE scope = ?",
  );
  const values = database.prepare<{ readonly json: string }>("SELECT json FROM items WHERE scope = ? ORDER BY key");
  const countAll = database.prepare<{ readonly total: number }>("SELECT items AS total FROM scopes WHERE scope = ?");
  const countRange = database.prepare<{ readonly total: number }>("SELECT count(*) AS total FROM items WHERE scope = ? AND key >= ? AND key < ?");
  const keysFrom = database.prepare<KeyRow>("SELECT key, bytes FROM items WHERE scope = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?");
  const itemsBetween = database.prepare<ItemRow>(
    "SELECT id, key, version, updated_at, bytes, json FROM items WHERE scope = ? AND key >= ? AND key <= ? ORDER BY key",
  );

  function get({ scope, key }: ItemName): Item | undefined {
    const row = one.get(stored(scope), stored(key));
    return row === undefined ? undefined : itemOf(key, row);
  }

  function set({ scope, key, json, bytes, now, ifVersion }: SetInput): SetOutput {
    const old = one.get(stored(scope), stored(key));
    const actual = old?.version ?? 0;
    if (ifVersion !== undefined && ifVersion !== actual) return { status: "conflict", actual };
    if (old?.json === json) return { status: "unchanged", version: old.version, updatedAt: old.updated_at };
    const version = (old === undefined ? (floorOf.get(stored(scope))?.floor ?? 0) : old.version) + 1;
    if (old === undefined) {
      insert.run(stored(scope), stored(key), version, now, bytes, json);
      countUp.run(stored(scope));
    } else {
      update.run(version, now, bytes, json, old.id);
    }
    return { status: "written", previous: old?.json, version };
  }

  function del({ scope, key, ifVersion }: DeleteInput): { readonly status: "removed"; readonly previous: string } | { readonly status: "absent" } | Conflict {
    const old = one.get(stored(scope), stored(key));
    const actual = old?.version ?? 0;
    if (ifVersion !== undefined && ifVersion !== actual) return { status: "conflict", actual };
    if (old === undefined) return { status: "absent" };
    remove.run(old.id);
    countDown.run(old.version + 1, stored(scope));
    return { status: "removed", previous: old.json };
  }

  function list({ scope, maxBytes }: { readonly scope: string; readonly maxBytes: number }): Listing {
    const size = sizeOf.get(stored(scope)) ?? { items: 0, bytes: 0 };
    if (size.bytes > maxBytes) return { status: "too_large", items: size.items, bytes: size.bytes };
    return { status: "complete", values: values.all(stored(scope)).map((row) => row.json) };
  }

  function page({ scope, prefix, after, limit, maxBytes }: PageRequest & { readonly scope: string }): ItemPage {
    const start = stored(prefix);
    const end = endOfPrefix(start) ?? END_OF_KEYS;
    const total = (prefix === "" ? countAll.get(stored(scope)) : countRange.get(stored(scope), start, end))?.total ?? 0;
    const found = keysFrom.all(stored(scope), laterOf(start, after), end, limit + 1);
    const fit = fitting(found.slice(0, limit), maxBytes);
    const first = fit[0];
    const last = fit[fit.length - 1];
    if (first === undefined || last === undefined) return { items: [], more: false, total };
    const items = itemsBetween.all(stored(scope), first.key, last.key).map((row) => itemOf(original(row.key), row));
    return { items, more: found.length > fit.length, total };
  }

  return {
    get: read(get),
    set: write(set),
    delete: write(del),
    list: read(list),
    page: read(page),
    scopes: read((_: null): readonly string[] => scopeNames.all().map((row) => original(row.scope))),
  } satisfies ProcedureTable;
}

export type ItemProcedures = ReturnType<typeof openProcedures>;

/** Keeps the table of scopes from growing with every scope that ever was. */
function foldEmptyScopes(database: Database): void {
  const empty = Number(database.prepare("SELECT count(*) AS empty FROM scopes WHERE items = 0").get()?.empty);
  if (empty <= MAX_EMPTY_SCOPES) return;
  database.exec(`BEGIN IMMEDIATE;
    UPDATE shared_floor SET version = max(version, (SELECT max(floor) FROM scopes WHERE items = 0));
    DELETE FROM scopes WHERE items = 0;
    COMMIT`);
}

function itemOf(key: string, row: Row): Item {
  return { key, json: row.json, version: row.version, updatedAt: row.updated_at, bytes: row.bytes, expiresAt: undefined };
}

/** The first key of a page. U+0001 is the first character that a stored text may hold, so nothing lies between `after` and `after` with it. */
function laterOf(start: string, after: string | undefined): string {
  if (after === undefined) return start;
  const behind = `${stored(after)}\u0001`;
  return compareKeys(behind, start) > 0 ? behind : start;
}

function fitting(rows: readonly KeyRow[], maxBytes: number): readonly KeyRow[] {
  let bytes = 0;
  const end = rows.findIndex((row, index) => {
    bytes += row.bytes;
    return index > 0 && bytes > maxBytes;
  });
  return end < 0 ? rows : rows.slice(0, end);
}

// SQLite's text functions and one of the drivers end a text at U+0000. So U+0000 is written as U+0001 U+0001 and U+0001 as U+0001 U+0002,
// which keeps both the order of texts and what is a prefix of what.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const toEscape = /[\u0000\u0001]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const escaped = /\u0001[\u0001\u0002]/g;

function stored(text: string): string {
  if (!text.includes("\u0000") && !text.includes("\u0001")) return text;
  return text.replace(toEscape, (character) => (character === "\u0000" ? "\u0001\u0001" : "\u0001\u0002"));
}

function original(text: string): string {
  return text.includes("\u0001") ? text.replace(escaped, (pair) => (pair === "\u0001\u0001" ? "\u0000" : "\u0001")) : text;
}
