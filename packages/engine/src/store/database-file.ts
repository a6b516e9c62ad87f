import { constants, copyFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseRefused, damageText, refuseDamage } from "./damage.ts";
import { type Database, type DriverName, openDatabase, resultCodes, SqlError } from "./driver.ts";
import { folderProblem } from "./folder-problem.ts";
import { keepPrivate } from "./private-file.ts";
import { finishRenewal } from "./renewal.ts";
import { readWal } from "./wal-file.ts";

export interface OpenFileOptions {
  /** Absolute path. Its folder must exist. */
  readonly file: string;
  readonly schema: readonly string[];
  readonly driver?: DriverName | undefined;
  /** `durable` (default): a commit returns when the log is on the disk. `relaxed`: the log is synced by others, see log-sync.ts. */
  readonly durability?: StoreDurability | undefined;
}

/** How long what was answered stays: through a power cut, or through the end of the process with up to 1 s lost in a power cut. */
export type StoreDurability = "durable" | "relaxed";

/** synchronous=FULL syncs the write-ahead log at each commit, NORMAL before the log is written back into the file. */
const SYNCHRONOUS = { durable: "PRAGMA synchronous=FULL", relaxed: "PRAGMA synchronous=NORMAL" } as const;
// The size limit is for the log after a burst, 64 MiB.
const SETTINGS = "PRAGMA busy_timeout=5000; PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864";

export interface OpenedFile {
  readonly database: Database;
  /** The last stop was not clean, so the file may be damaged in a way that the check at the opening does not see. */
  readonly wasUnclean: boolean;
  /** What was found and is lost, as a sentence for people. */
  readonly damage: string | undefined;
}

/**
 * Opens a database for the store: checked when the last stop was not clean, write-ahead log, schema brought up to date.
 * Throws DatabaseRefused for a damaged file, one of a newer version, and one that cannot be read or written.
 */
export function openDatabaseFile(options: OpenFileOptions): OpenedFile {
  let database: Database | undefined;
  try {
    finishRenewal(options.file);
    const wasUnclean = endedUncleanly(options.file);
    // Before SQLite opens the log: it reads up to the first bad frame and overwrites the rest.
    // A relaxed store may have several transactions in its log that no sync wrote: after a power cut some of their pages are there and others are not.
    const damage = wasUnclean && options.durability !== "relaxed" ? keepDamagedLog(options.file) : undefined;
    keepPrivate(options.file);
    database = openDatabase(options.file, options.driver);
    database.exec(`${SETTINGS}; ${SYNCHRONOUS[options.durability ?? "durable"]}`);
    if (wasUnclean) refuseDamage(options.file, database);
    // The pragma answers with the mode it ended up in, e.g. "delete" on a file system that cannot share memory.
    const mode = database.prepare("PRAGMA journal_mode=WAL").get()?.journal_mode;
    if (mode !== "wal")
      throw new DatabaseRefused(`the database ${options.file} cannot use a write-ahead log here (SQLite answered "${mode}"); put it on a local disk`);
    upgrade(options.file, database, options.schema);
    return { database, wasUnclean, damage };
  } catch (thrown) {
    closeQuietly(database);
    throw refusalOf(options.file, thrown);
  }
}

/** Writes the log back into the file and closes, so that the next opening knows that the stop was clean. */
export function closeDatabaseFile(database: Database): void {
  database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all();
  database.close();
}

/** Closes a connection that may already be unusable. */
export function closeQuietly(database: Database | undefined): void {
  try {
    database?.close();
  } catch (thrown) {
    // A connection that cannot be closed is left to the garbage collector; the failure that led here is the one that is reported.
    if (!(thrown instanceof SqlError)) throw thrown;
  }
}

/** A clean stop leaves an empty log or none; whatever is in it was not written back by us. */
function endedUncleanly(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** Keeps a copy of a log of which SQLite is going to ignore a part, and says what is lost. Undefined when the log is whole. */
function keepDamagedLog(file: string): string | undefined {
  const { readable, unreadable } = readWal(`${file}-wal`) ?? { readable: 0, unreadable: 0 };
  if (unreadable === 0) return undefined;
  // Its name is that of a database with its log, so that tools for SQLite open both.
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

/** Brings the schema from the file's version to the newest, after a copy of the file as it was (`FILE.v1.TIME.bak`). */
function upgrade(file: string, database: Database, schema: readonly string[]): void {
  const version = Number(database.prepare("PRAGMA user_version").get()?.user_version);
  if (version === schema.length) return;
  if (version > schema.length) {
    throw new DatabaseRefused(
      `the database ${file} has format version ${version}, this engine knows versions up to ${schema.length}; start the newer engine that wrote it, or give this one another data folder`,
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
  return new DatabaseRefused(`the database ${file} cannot be opened: ${problem}; its folder must exist, be writable and have space left`, error);
}
