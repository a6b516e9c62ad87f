import { existsSync, rmSync } from "node:fs";
import { closeDatabaseFile, closeQuietly, openDatabaseFile } from "../database-file.ts";
import { type Database, type DriverName, openDatabase, type SqlValue } from "../driver.ts";
import { isUnsynced } from "../failed-sync.ts";
import { keepPrivate } from "../private-file.ts";
import type { ProceduresModule } from "../procedures.ts";
import { Replica } from "./replica.ts";
import type { Snapshot } from "./snapshot.ts";

export interface ReplicaPlace {
  /** Absolute path; undefined for a database in memory. */
  readonly file: string | undefined;
  /** Absolute path of a snapshot to start from if the replica is new. */
  readonly seed: string | undefined;
  readonly driver: DriverName;
  readonly identity: string;
  readonly run: string;
}

export interface OpenReplica {
  readonly replica: Replica;
  /** Writes a copy of the database to a new file. */
  snapshot(target: string): Snapshot;
  close(): void;
}

/** Opens a replica. Throws DatabaseRefused, ReplicaStopped or SqlError. */
export function openReplica(module: ProceduresModule, place: ReplicaPlace): OpenReplica {
  const database = place.file === undefined ? openMemoryDatabase(module, place) : inFile(module, place, place.file);
  try {
    const replica = new Replica(database, module, place);
    return {
      replica,
      snapshot(target) {
        keepPrivate(target);
        database.prepare("VACUUM INTO ?").run(target);
        const { identity, position } = replica.opened.state;
        return { identity, position };
      },
      close: () => (place.file === undefined ? database.close() : closeDatabaseFile(database)),
    };
  } catch (thrown) {
    closeQuietly(database);
    throw thrown;
  }
}

/**
 * Opens the replica's file. It is not synced with each entry, because after a power cut the log still has the entries.
 */
function inFile({ schema }: ProceduresModule, { driver }: ReplicaPlace, file: string): Database {
  return openDatabaseFile({ file, schema, driver, durability: "relaxed" }).database;
}

/** Opens a database in memory, with the content of the seed if there is one. */
export function openMemoryDatabase(
  { schema }: ProceduresModule,
  { driver, seed }: Pick<ReplicaPlace, "driver" | "seed">,
): Database {
  const database = openDatabase(":memory:", driver);
  const version = seed === undefined ? 0 : copyInto(database, seed, driver);
  // The version is needed when a copy of this database is opened as a file.
  database.exec(`${schema.slice(version).join(";\n")}; PRAGMA user_version=${schema.length}`);
  return database;
}

/** Removes the files of a replica, so that the next opening restores it from a snapshot or the log. */
export function removeReplica(file: string): void {
  for (const end of ["", "-wal", "-shm", ".unsynced"]) rmSync(`${file}${end}`, { force: true });
}

/** True if the file exists and none of its syncs failed. */
export function isUsable(file: string): boolean {
  return existsSync(file) && !isUnsynced(file);
}

/** Copies all tables of a file into an empty database, with their indexes. Returns the version of the schema. */
function copyInto(database: Database, file: string, driver: DriverName): number {
  const source = openDatabase(file, driver);
  try {
    const objects = source
      .prepare<{ type: string; name: string; sql: string }>(
        "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type = 'table' DESC, rowid",
      )
      .all();
    const tables = objects.filter(({ type, name }) => type === "table" && !name.startsWith("sqlite_"));
    database.exec("BEGIN");
    for (const { sql } of tables) database.exec(sql);
    for (const { name } of tables) copyRows(source, database, name);
    if (objects.some(({ name }) => name === "sqlite_sequence")) {
      // SQLite has set the counters from the copied rows. Copy the original counters instead, so that the ids of
      // removed rows are not used again.
      database.exec("DELETE FROM sqlite_sequence");
      copyRows(source, database, "sqlite_sequence");
    }
    for (const { type, sql } of objects) if (type !== "table") database.exec(sql);
    database.exec("COMMIT");
    return Number(source.prepare("PRAGMA user_version").get()?.user_version);
  } finally {
    source.close();
  }
}

function copyRows(source: Database, target: Database, table: string): void {
  const rows = source.prepare(`SELECT * FROM "${table}"`).iterate();
  let insert: ReturnType<Database["prepare"]> | undefined;
  for (const row of rows) {
    const values: SqlValue[] = Object.values(row);
    insert ??= target.prepare(`INSERT INTO "${table}" VALUES (${values.map(() => "?").join(", ")})`);
    insert.run(...values);
  }
}
