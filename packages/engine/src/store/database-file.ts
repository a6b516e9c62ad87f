import { constants, copyFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { StoreDurability } from "../kernel/store-contract.ts";
import { type Database, type DriverName, openDatabase, resultCodes, SqlError } from "./driver.ts";
import { finishRenewal } from "./failed-sync.ts";
import { folderProblem } from "./folder-problem.ts";
import { DatabaseRefused, damageText, refuseDamage } from "./integrity-check.ts";
import { keepPrivate } from "./private-file.ts";
import { readWal } from "./wal-file.ts";

export interface OpenFileOptions {
  /** Absolute path. Its folder must exist. */
  readonly file: string;
  /** SQL migrations of the schema. Undefined: the file keeps the schema that it has. */
  readonly schema: readonly string[] | undefined;
  readonly driver?: DriverName | undefined;
  /** `durable` (default): each commit syncs the write-ahead log. `relaxed`: log-sync.ts syncs it later. */
  readonly durability?: StoreDurability | undefined;
}

/** synchronous=FULL syncs the write-ahead log at each commit; NORMAL syncs it only before a checkpoint. */
const SYNCHRONOUS = { durable: "PRAGMA synchronous=FULL", relaxed: "PRAGMA synchronous=NORMAL" } as const;
// journal_size_limit truncates the write-ahead log to 64 MiB after a burst of writes.
const SETTINGS =
  "PRAGMA busy_timeout=5000; PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864";

export interface OpenedFile {
  readonly database: Database;
  /** True if the last stop was not clean. The file may then have damage that the check on opening does not find. */
  readonly wasUnclean: boolean;
  /** User message about lost data; undefined if no loss was found. */
  readonly damage: string | undefined;
}

/**
 * Opens a database for the store: checks it after an unclean stop, enables the write-ahead log and upgrades the schema.
 * Throws DatabaseRefused if the file is damaged, has a newer version, or cannot be read or written.
 */
export function openDatabaseFile(options: OpenFileOptions): OpenedFile {
  let database: Database | undefined;
  try {
    finishRenewal(options.file);
    const wasUnclean = endedUncleanly(options.file);
    // Check the write-ahead log before SQLite opens it, because SQLite reads up to the first bad frame and overwrites
    // the rest. The log of a relaxed store is not checked: after a power cut it may contain only some pages of several
    // unsynced transactions, which is no damage.
    const damage = wasUnclean && options.durability !== "relaxed" ? keepDamagedLog(options.file) : undefined;
    keepPrivate(options.file);
    database = openDatabase(options.file, options.driver);
    database.exec(`${SETTINGS}; ${SYNCHRONOUS[options.durability ?? "durable"]}`);
    if (wasUnclean) refuseDamage(options.file, database);
    // The pragma returns the actual mode, e.g. "delete" on a file system without shared memory.
    const mode = database.prepare("PRAGMA journal_mode=WAL").get()?.journal_mode;
    if (mode !== "wal")
      throw new DatabaseRefused(
        `the database ${options.file} cannot use a write-ahead log here (journal mode "${mode}"); move it to a local disk`,
      );
    if (options.schema !== undefined) upgrade(options.file, database, options.schema);
    return { database, wasUnclean, damage };
  } catch (thrown) {
    closeQuietly(database);
    throw refusalOf(options.file, thrown);
  }
}

/**
 * Checkpoints the write-ahead log and closes the database. The empty log shows the next start that the stop was clean.
 */
export function closeDatabaseFile(database: Database): void {
  database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all();
  database.close();
}

/** Closes a connection that may already be unusable. */
export function closeQuietly(database: Database | undefined): void {
  try {
    database?.close();
  } catch (thrown) {
    // Ignored: the garbage collector closes the connection, and the caller reports the original error.
    if (!(thrown instanceof SqlError)) throw thrown;
  }
}

/** True if the write-ahead log is not empty. After a clean stop it is empty or missing. */
export function endedUncleanly(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/**
 * Copies the database and its write-ahead log if SQLite will ignore a part of the log, and returns a message about the
 * loss. Returns undefined if the log is intact.
 */
function keepDamagedLog(file: string): string | undefined {
  const { readable, unreadable } = readWal(`${file}-wal`) ?? { readable: 0, unreadable: 0 };
  if (unreadable === 0) return undefined;
  // The names of the copies match each other like those of a database and its log, so that SQLite tools can open them.
  const copy = `${file}.damaged.${Date.now()}`;
  let kept = `A copy of both files is kept as ${copy}`;
  try {
    for (const end of ["-wal", ""]) {
      copyFileSync(`${file}${end}`, `${copy}${end}`, constants.COPYFILE_FICLONE);
      keepPrivate(`${copy}${end}`);
    }
  } catch (error) {
    kept = `They could not be copied: ${(error as Error).message}`;
  }
  return (
    `the log ${file}-wal is damaged: the first ${readable} pages in it are used, at least ${unreadable} later ones cannot be, so the last writes before the stop are lost. ` +
    kept
  );
}

/** Upgrades the schema to the newest version. Before the upgrade, copies the file to e.g. `FILE.v1.TIME.bak`. */
function upgrade(file: string, database: Database, schema: readonly string[]): void {
  const version = Number(database.prepare("PRAGMA user_version").get()?.user_version);
  if (version === schema.length) return;
  if (version > schema.length) {
    throw new DatabaseRefused(
      `the database ${file} has format version ${version}, this engine knows versions up to ${schema.length}; start the newer engine that wrote it, or use another data folder`,
    );
  }
  if (version > 0) {
    const backup = `${file}.v${version}.${Date.now()}.bak`;
    keepPrivate(backup);
    database.prepare("VACUUM INTO ?").run(backup);
  }
  database.exec(`BEGIN IMMEDIATE; ${schema.slice(version).join(";\n")}; PRAGMA user_version=${schema.length}; COMMIT`);
}

function refusalOf(file: string, thrown: unknown): unknown {
  if (!(thrown instanceof SqlError)) return isSystemError(thrown) ? unusable(file, thrown) : thrown;
  if (thrown.resultCode === resultCodes.notADatabase || thrown.resultCode === resultCodes.corrupt)
    return new DatabaseRefused(damageText(file, thrown.message), thrown);
  return unusable(file, thrown);
}

function isSystemError(thrown: unknown): thrown is NodeJS.ErrnoException {
  return thrown instanceof Error && "syscall" in thrown;
}

function unusable(file: string, error: Error): DatabaseRefused {
  const problem = folderProblem(dirname(file)) ?? error.message;
  return new DatabaseRefused(
    `the database ${file} cannot be opened: ${problem}; its folder must exist, be writable and have space left`,
    error,
  );
}
