import { statSync } from "node:fs";
import { dirname } from "node:path";
import { type Database, type DriverName, openDatabase, resultCodes, SqlError } from "./driver.ts";
import { folderProblem } from "./folder-problem.ts";
import { keepPrivate } from "./private-file.ts";

/** Why a database file cannot be used. The message names the file, what is wrong, and what to do; it is meant for the person who starts the engine. */
export class DatabaseRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "DatabaseRefused";
  }
}

export interface OpenFileOptions {
  /** Absolute path. Its folder must exist. */
  readonly file: string;
  readonly schema: readonly string[];
  /** Checks the whole file even after a clean stop. */
  readonly check: "after-unclean-stop" | "always";
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

/** Most damage that a message quotes; the rest is found by whoever repairs the file. */
const QUOTED_PROBLEMS = 3;

/**
 * Opens a database for the store: checked when the last stop was not clean, write-ahead log, schema brought up to date.
 * Throws DatabaseRefused for a damaged file, one of a newer version, and one that cannot be read or written.
 */
export function openDatabaseFile(options: OpenFileOptions): Database {
  let database: Database | undefined;
  try {
    const mustCheck = options.check === "always" || endedUncleanly(options.file);
    keepPrivate(options.file);
    database = openDatabase(options.file, options.driver);
    database.exec(`${SETTINGS}; ${SYNCHRONOUS[options.durability ?? "durable"]}`);
    if (mustCheck) refuseDamage(options.file, database);
    // The pragma answers with the mode it ended up in, e.g. "delete" on a file system that cannot share memory.
    const mode = database.prepare("PRAGMA journal_mode=WAL").get()?.journal_mode;
    if (mode !== "wal")
      throw new DatabaseRefused(`the database ${options.file} cannot use a write-ahead log here (SQLite answered "${mode}"); put it on a local disk`);
    upgrade(options.file, database, options.schema);
    return database;
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

function refuseDamage(file: string, database: Database): void {
  const problems = findDamage(database);
  if (problems.length === 1 && problems[0] === "ok") return;
  const quoted = problems.slice(0, QUOTED_PROBLEMS).map((problem) => problem.replaceAll("\n", " "));
  throw new DatabaseRefused(damageText(file, quoted.join("; ")));
}

/** What the check found; `ok` alone when it found nothing. It looks at pages first, and then may fail on what it reads from them: with a limit of one finding it does not get that far. */
function findDamage(database: Database): string[] {
  try {
    return database
      .prepare<CheckRow>("PRAGMA quick_check(10)")
      .all()
      .map((row) => row.quick_check);
  } catch (thrown) {
    if (!(thrown instanceof SqlError) || thrown.resultCode !== resultCodes.corrupt) throw thrown;
    return [database.prepare<CheckRow>("PRAGMA quick_check(1)").get()?.quick_check ?? thrown.message];
  }
}

type CheckRow = { readonly quick_check: string };

function damageText(file: string, finding: string): string {
  return (
    `the database ${file} is damaged: ${finding}. Nothing was changed. To go on: copy ${file} and the files beside it that begin with its name to a safe place, then restore a backup, ` +
    `or recover what is readable with \`sqlite3 ${file} .recover | sqlite3 ${file}.recovered\` and put the recovered file in its place`
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
