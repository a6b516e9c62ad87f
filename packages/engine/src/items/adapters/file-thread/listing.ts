import type { Database } from "../../../store/driver.ts";
import { read, type StoreTime } from "../../../store/procedures.ts";
import type { ExpiredItem, GroupPage, Item, ItemPage, Listing, PageRequest } from "../../item-store.ts";
import { fitting, rangeAfter, rangeOf } from "./ranges.ts";
import type { ScopeTable } from "./scope-table.ts";
import { original, stored } from "./stored-text.ts";

export interface PageInput extends PageRequest {
  readonly scope: string;
}

export interface ListInput {
  readonly scope: string;
  readonly maxBytes: number;
}

type KeyRow = { readonly key: string; readonly bytes: number };
type ItemRow = KeyRow & {
  readonly version: number;
  readonly updated_at: number;
  readonly expires_at: number | null;
  readonly json: string;
};
type GroupRow = { readonly scope: string; readonly items: number; readonly bytes: number };

/** SQL condition for items that are not expired. Parameter: now. */
const ALIVE = "(expires_at IS NULL OR expires_at > ?)";

/** Opens the procedures that list items, scopes and expired items. */
export function openListingProcedures(database: Database, counted: ScopeTable, time: StoreTime) {
  const scopeSize = database.prepare<{ readonly items: number; readonly bytes: number }>(
    "SELECT items, bytes FROM scopes WHERE scope = ?",
  );
  const aliveSize = database.prepare<{ readonly items: number; readonly bytes: number }>(
    `SELECT count(*) AS items, coalesce(sum(bytes), 0) AS bytes FROM items WHERE scope = ? AND ${ALIVE}`,
  );
  const values = database.prepare<{ readonly json: string }>(
    `SELECT json FROM items WHERE scope = ? AND ${ALIVE} ORDER BY key`,
  );
  const countRange = database.prepare<{ readonly total: number }>(
    "SELECT count(*) AS total FROM items WHERE scope = ? AND key >= ? AND key < ?",
  );
  const keysIn = database.prepare<KeyRow>(
    `SELECT key, bytes FROM items WHERE scope = ? AND key >= ? AND key < ? AND ${ALIVE} ORDER BY key LIMIT ?`,
  );
  const itemsBetween = database.prepare<ItemRow>(
    `SELECT key, version, updated_at, expires_at, bytes, json FROM items WHERE scope = ? AND key >= ? AND key <= ? AND ${ALIVE} ORDER BY key`,
  );
  const namesIn = database.prepare<{ readonly scope: string }>(
    "SELECT scope FROM scopes WHERE items > 0 AND scope >= ? AND scope < ? ORDER BY scope",
  );
  const groupsIn = database.prepare<GroupRow>(
    "SELECT scope, items, bytes FROM scopes WHERE items > 0 AND scope >= ? AND scope < ? ORDER BY scope LIMIT ?",
  );
  const countGroups = database.prepare<{ readonly total: number }>(
    "SELECT count(*) AS total FROM scopes WHERE items > 0 AND scope >= ? AND scope < ?",
  );
  const ended = database.prepare<{ readonly scope: string; readonly key: string; readonly version: number }>(
    "SELECT scope, key, version FROM items WHERE expires_at <= ? ORDER BY expires_at LIMIT ?",
  );
  const firstEnd = database.prepare<{ readonly expires_at: number }>(
    "SELECT expires_at FROM items WHERE expires_at IS NOT NULL ORDER BY expires_at LIMIT 1",
  );

  function list({ scope, maxBytes }: ListInput): Listing {
    const now = time.now();
    counted.flush();
    const name = stored(scope);
    if ((scopeSize.get(name)?.bytes ?? 0) > maxBytes) {
      const size = aliveSize.get(name, now) ?? { items: 0, bytes: 0 };
      if (size.bytes > maxBytes) return { status: "too_large", items: size.items, bytes: size.bytes };
    }
    return { status: "complete", values: values.all(name, now).map((row) => row.json) };
  }

  function page({ scope, prefix, after, limit, maxBytes }: PageInput): ItemPage {
    const now = time.now();
    counted.flush();
    const name = stored(scope);
    const range = rangeOf(prefix);
    const total = prefix === "" ? (scopeSize.get(name)?.items ?? 0) : (countRange.get(name, ...range)?.total ?? 0);
    const found = keysIn.all(name, ...rangeAfter(range, after), now, limit + 1);
    const fit = fitting(found.slice(0, limit), maxBytes);
    const first = fit[0];
    const last = fit[fit.length - 1];
    if (first === undefined || last === undefined) return { items: [], more: false, total };
    const items = itemsBetween.all(name, first.key, last.key, now).map(itemOf);
    return { items, more: found.length > fit.length, total };
  }

  function groups({ prefix, after, limit }: Omit<PageRequest, "maxBytes">): GroupPage {
    counted.flush();
    const range = rangeOf(prefix);
    const found = groupsIn.all(...rangeAfter(range, after), limit + 1);
    return {
      groups: found.slice(0, limit).map(({ scope, items, bytes }) => ({ scope: original(scope), items, bytes })),
      more: found.length > limit,
      total: countGroups.get(...range)?.total ?? 0,
    };
  }

  function scopes(prefix: string): readonly string[] {
    counted.flush();
    return namesIn.all(...rangeOf(prefix)).map((row) => original(row.scope));
  }

  function expired({ now, limit }: { readonly now: number; readonly limit: number }): readonly ExpiredItem[] {
    return ended
      .all(now, limit)
      .map(({ scope, key, version }) => ({ scope: original(scope), key: original(key), version }));
  }

  return {
    list: read(list),
    page: read(page),
    scopes: read(scopes),
    groups: read(groups),
    expired: read(expired),
    nextExpiry: read((_: null) => firstEnd.get()?.expires_at),
  };
}

function itemOf(row: ItemRow): Item {
  const { json, version, bytes } = row;
  return {
    key: original(row.key),
    json,
    version,
    updatedAt: row.updated_at,
    bytes,
    expiresAt: row.expires_at ?? undefined,
  };
}
