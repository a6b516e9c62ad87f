import { constants, copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endedUncleanly } from "../database-file.ts";
import { type Database, openDatabase } from "../driver.ts";
import { LogTime } from "../log-time.ts";
import { ReplicaTables } from "./replica-tables.ts";

/** Returns the position of a replica in its log, or 0 if the replica has applied no entry. Does not change the file. */
export function positionOf(file: string): number {
  if (!endedUncleanly(file)) return positionIn(file);
  // Read a copy, because SQLite would change the original: it would move the write-ahead log into the file, or drop the
  // damaged part of the log.
  const folder = mkdtempSync(join(tmpdir(), "svc-position-"));
  try {
    const copy = join(folder, "replica.db");
    for (const end of ["", "-wal"]) copyFileSync(`${file}${end}`, `${copy}${end}`, constants.COPYFILE_FICLONE);
    return positionIn(copy);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function positionIn(file: string): number {
  const database = openDatabase(file);
  try {
    const tables = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'replica_state'").all();
    if (tables.length === 0) return 0;
    return Number(database.prepare("SELECT position FROM replica_state").get()?.position ?? 0);
  } finally {
    database.close();
  }
}

/**
 * Turns a copy of a database into the first snapshot of a new log. The database is a replica of another log, or the
 * file of a store without a log. The log time continues. The runs of the old log have ended, so their leases are
 * orphaned.
 */
export function becomeFirstSnapshot(
  database: Database,
  at: { readonly identity: string; readonly position: number; readonly lastId: string },
): void {
  const tables = new ReplicaTables(database);
  const { now, wall } = tables.state() ?? new LogTime(database).stored ?? { now: Date.now(), wall: Date.now() };
  database.exec(`BEGIN IMMEDIATE;
    DROP TABLE IF EXISTS store_time;
    DELETE FROM replica_runs; DELETE FROM replica_votes; DELETE FROM replica_parts; DELETE FROM replica_fingerprints`);
  tables.setState({ ...at, applied: 0, digest: "", now, wall });
  database.exec("COMMIT");
}
