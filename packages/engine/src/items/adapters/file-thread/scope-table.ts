import type { Database } from "../../../store/driver.ts";
import { type WriteBuffer, write } from "../../../store/procedures.ts";

/** Maximum number of empty scopes with their own row. Above it, `foldEmptyScopes` merges them into `shared_floor`. */
const MAX_EMPTY_SCOPES = 10_000;

/** Changes that one write makes to the row of a scope. */
export interface ScopeChange {
  readonly items: number;
  readonly bytes: number;
  /** Version of the deletion; 0 if nothing was deleted. */
  readonly floor: number;
}

/**
 * Sizes of scopes and the highest versions of their deletions. Changes within a transaction are buffered and written
 * once per scope, because most transactions write to few scopes. The buffer must be flushed before the table is read.
 * Scope names are encoded texts.
 */
export interface ScopeTable extends WriteBuffer {
  note(scope: string, change: ScopeChange): void;
  /** Returns the highest version of a deletion in the scope. */
  floor(scope: string): number;
}

interface PendingChange {
  items: number;
  bytes: number;
  floor: number;
  /** Floor in the table; undefined until it is read for the first time. */
  storedFloor: number | undefined;
}

export function openScopeTable(database: Database): ScopeTable {
  const floorOf = database.prepare<{ readonly floor: number }>(
    "SELECT max(coalesce((SELECT floor FROM scopes WHERE scope = ?), 0), version) AS floor FROM shared_floor",
  );
  const add = database.prepare(
    `INSERT INTO scopes (scope, items, bytes, floor) VALUES (?, ?, ?, ?)
     ON CONFLICT (scope) DO UPDATE SET items = items + excluded.items, bytes = bytes + excluded.bytes, floor = max(floor, excluded.floor)`,
  );
  const pending = new Map<string, PendingChange>();

  function pendingOf(scope: string): PendingChange {
    let entry = pending.get(scope);
    if (entry === undefined) {
      entry = { items: 0, bytes: 0, floor: 0, storedFloor: undefined };
      pending.set(scope, entry);
    }
    return entry;
  }

  return {
    note(scope, { items, bytes, floor }) {
      const entry = pendingOf(scope);
      entry.items += items;
      entry.bytes += bytes;
      entry.floor = Math.max(entry.floor, floor);
    },
    floor(scope) {
      const entry = pendingOf(scope);
      entry.storedFloor ??= floorOf.get(scope)?.floor ?? 0;
      return Math.max(entry.storedFloor, entry.floor);
    },
    flush() {
      for (const [scope, { items, bytes, floor }] of pending) {
        if (items !== 0 || bytes !== 0 || floor !== 0) add.run(scope, items, bytes, floor);
      }
      pending.clear();
    },
    discard() {
      pending.clear();
    },
  };
}

export function openScopeProcedures(database: Database, scopes: ScopeTable) {
  const empty = database.prepare<{ readonly scopes: number }>("SELECT count(*) AS scopes FROM scopes WHERE items = 0");
  const raise = database.prepare(
    "UPDATE shared_floor SET version = max(version, (SELECT max(floor) FROM scopes WHERE items = 0))",
  );
  const remove = database.prepare("DELETE FROM scopes WHERE items = 0");
  return {
    /**
     * Deletes the rows of empty scopes if there are too many of them, so that the table does not grow without limit.
     * Returns the number of deleted rows. This must be a request, because it changes the versions of items that are
     * created later: two databases that ran the same requests must be equal, even if they were opened at different
     * times.
     */
    foldEmptyScopes: write((_: null): number => {
      scopes.flush();
      if ((empty.get()?.scopes ?? 0) <= MAX_EMPTY_SCOPES) return 0;
      raise.run();
      return remove.run().changes;
    }),
  };
}
