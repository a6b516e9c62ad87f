import type { Database } from "../../../store/driver.ts";
import type { Gathering } from "../../../store/procedures.ts";

/** Emptied scopes that are remembered one by one; what is beyond at the opening is remembered together. */
const MAX_EMPTY_SCOPES = 10_000;

/** What a write adds to what is known of its scope. */
export interface ScopeChange {
  readonly items: number;
  readonly bytes: number;
  /** The version of a deletion; 0 when there was none. */
  readonly floor: number;
}

/**
 * Sizes of scopes and their highest deleted versions. What one transaction's writes add to a scope is gathered and written once, since most of them
 * are of few scopes; whoever reads the table flushes first. Scopes are given as stored.
 */
export interface ScopeTable extends Gathering {
  note(scope: string, change: ScopeChange): void;
  /** The highest version that was deleted in the scope. */
  floor(scope: string): number;
}

interface Gathered {
  items: number;
  bytes: number;
  floor: number;
  /** As the table has it; undefined until someone asks. */
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
  const gathered = new Map<string, Gathered>();

  function gatheredOf(scope: string): Gathered {
    let entry = gathered.get(scope);
    if (entry === undefined) {
      entry = { items: 0, bytes: 0, floor: 0, storedFloor: undefined };
      gathered.set(scope, entry);
    }
    return entry;
  }

  return {
    note(scope, { items, bytes, floor }) {
      const entry = gatheredOf(scope);
      entry.items += items;
      entry.bytes += bytes;
      entry.floor = Math.max(entry.floor, floor);
    },
    floor(scope) {
      const entry = gatheredOf(scope);
      entry.storedFloor ??= floorOf.get(scope)?.floor ?? 0;
      return Math.max(entry.storedFloor, entry.floor);
    },
    flush() {
      for (const [scope, { items, bytes, floor }] of gathered) {
        if (items !== 0 || bytes !== 0 || floor !== 0) add.run(scope, items, bytes, floor);
      }
      gathered.clear();
    },
    discard() {
      gathered.clear();
    },
  };
}

/** Keeps the table of scopes from growing with every scope that ever was. */
export function foldEmptyScopes(database: Database): void {
  const empty = Number(database.prepare("SELECT count(*) AS empty FROM scopes WHERE items = 0").get()?.empty);
  if (empty <= MAX_EMPTY_SCOPES) return;
  database.exec(`BEGIN IMMEDIATE;
    UPDATE shared_floor SET version = max(version, (SELECT max(floor) FROM scopes WHERE items = 0));
    DELETE FROM scopes WHERE items = 0;
    COMMIT`);
}
