import type { StoreDurability } from "../kernel/store-contract.ts";
import { answersTo, DatabaseFailed, isRead, runAlone, runBatch } from "./batch.ts";
import { closeDatabaseFile, closeQuietly, openDatabaseFile } from "./database-file.ts";
import { type Database, type DriverName, SqlError } from "./driver.ts";
import { isUnsynced, noteUnsynced, renew } from "./failed-sync.ts";
import { FileIdentity } from "./file-identity.ts";
import { DatabaseRefused } from "./integrity-check.ts";
import type { BatchTime } from "./log-time.ts";
import { type OpenedModule, openModule, writesOf } from "./open-module.ts";
import type { ProceduresModule } from "./procedures.ts";
import type { Answer, Request } from "./thread-messages.ts";
import { readWal, type WalContent } from "./wal-file.ts";

interface Connection extends OpenedModule {
  readonly database: Database;
  readonly identity: FileIdentity;
}

/** Pauses between attempts to renew the file, in milliseconds. */
const MIN_RENEWAL_PAUSE_MS = 250;
const MAX_RENEWAL_PAUSE_MS = 5_000;

/**
 * A database file in the store thread, from opening to closing. A write is synced before it is acknowledged; in a
 * `relaxed` session it is synced shortly afterwards. After a failed commit, no request of the batch is acknowledged.
 * After a failed sync, no write is acknowledged until the database has been written to a new file; see failed-sync.ts.
 */
export class Session {
  readonly #file: string;
  readonly #module: ProceduresModule;
  readonly #driver: DriverName;
  readonly #durability: StoreDurability;
  #connection: Connection | undefined;
  #problem: string | undefined;
  #damage: string | undefined;
  #wasUnclean = false;
  /**
   * Set after a failed sync. `frames` is the number of log frames that were readable at that time. If fewer are
   * readable later, pages are lost.
   */
  #unsynced: { readonly frames: number } | undefined;
  #isRenewed = false;
  /** Monotonic time before which no further renewal is tried, in milliseconds. */
  #nextRenewalAt = 0;
  #renewalPauseMs = MIN_RENEWAL_PAUSE_MS;

  /** Opens the file. Throws DatabaseRefused. */
  constructor(file: string, module: ProceduresModule, driver: DriverName, durability: StoreDurability = "durable") {
    this.#file = file;
    this.#module = module;
    this.#driver = driver;
    this.#durability = durability;
    this.#connection = this.#open();
    if (isUnsynced(file)) this.#markUnsynced("a sync failed before the last stop");
  }

  /** Reason why writes fail at present; undefined if they work. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** User message about lost data that was detected on opening; undefined otherwise. */
  get damage(): string | undefined {
    return this.#damage;
  }

  /** True if the last stop was not clean. */
  get wasUnclean(): boolean {
    return this.#wasUnclean;
  }

  /** Names of the procedures that write. */
  get writes(): readonly string[] {
    return this.#connection === undefined ? [] : writesOf(this.#connection);
  }

  /**
   * True if the new file is ready. The thread must then end, so that all connections to the old file are closed. The
   * next opening replaces the old file with the new one.
   */
  get isRenewed(): boolean {
    return this.#isRenewed;
  }

  /** The stored log time; undefined if the database has none. */
  get storedTime(): BatchTime | undefined {
    return this.#connection?.time.stored;
  }

  /**
   * Runs requests in order, at least one. If it returns fewer answers than requests, the other requests were not
   * started.
   */
  run(requests: readonly Request[], time: BatchTime): Answer[] {
    const connection = this.#connected();
    if (connection === undefined) return this.#allFailed(requests);
    const writes = requests.some((request) => !isRead(connection.procedures, request));
    connection.time.begin(time, writes);
    if (writes && !this.#canWrite(connection)) return this.#readsOnly(requests, {});
    let answers: Answer[];
    try {
      answers = runBatch(connection.database, connection.procedures, connection.buffer, requests);
    } catch (thrown) {
      if (!(thrown instanceof DatabaseFailed)) throw thrown;
      this.#noteFailure(thrown, connection);
      // The error may be a failed sync. The next opening may then still find these writes in the log.
      return this.#readsOnly(requests, thrown.suspect ? { isUnclear: true } : {});
    }
    if (!writes) return answers;
    // The file may have been removed before the commit.
    if (!this.#isInPlace(connection)) return this.#readsOnly(requests, { isUnclear: true });
    this.#problem = undefined;
    return answers;
  }

  /** Tries a test write, or after a failed sync, tries to renew the file. */
  probe(): void {
    const connection = this.#connected();
    if (connection === undefined || !this.#isInPlace(connection)) return;
    if (this.#unsynced !== undefined) {
      this.#tryToRenew(connection, this.#unsynced.frames);
      return;
    }
    try {
      connection.database.exec(`PRAGMA user_version=${this.#module.schema.length}`);
      this.#problem = undefined;
    } catch (thrown) {
      if (!(thrown instanceof SqlError)) throw thrown;
      this.#noteFailure(new DatabaseFailed(thrown, "a test write"), connection);
    }
  }

  /** Checks that the files are still in place, also while there are no writes. */
  checkPlace(): void {
    if (this.#connection !== undefined) this.#isInPlace(this.#connection);
  }

  /** Must be called after a failed sync of a relaxed store. */
  noteUnsynced(reason: string): void {
    this.#markUnsynced(`the writes of the last second would not survive a power cut: ${reason}`);
  }

  /**
   * Closes the file. Throws an Error if the checkpoint failed. Nothing is lost then, but the next start checks the
   * file.
   */
  close(time: BatchTime): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection === undefined) return;
    try {
      if (this.#problem === undefined) keepTime(connection, time);
      // A checkpoint could write pages that were never synced. So write the new file instead; the next opening replaces
      // the old one with it.
      if (this.#unsynced !== undefined && !this.#isRenewed) this.#renew(connection, this.#unsynced.frames);
      closeDatabaseFile(connection.database);
    } catch (thrown) {
      closeQuietly(connection.database);
      throw thrown;
    }
  }

  #open(): Connection {
    const { database, wasUnclean, damage } = openDatabaseFile({
      file: this.#file,
      schema: this.#module.schema,
      driver: this.#driver,
      durability: this.#durability,
    });
    this.#wasUnclean ||= wasUnclean;
    this.#damage ??= damage;
    try {
      return { database, ...openModule(this.#module, database), identity: new FileIdentity(this.#file) };
    } catch (thrown) {
      closeQuietly(database);
      throw thrown instanceof SqlError
        ? new DatabaseRefused(`the database ${this.#file} cannot be used: ${thrown.message}`, thrown)
        : thrown;
    }
  }

  #connected(): Connection | undefined {
    if (this.#connection !== undefined) return this.#connection;
    try {
      this.#connection = this.#open();
    } catch (thrown) {
      if (!(thrown instanceof DatabaseRefused)) throw thrown;
      this.#problem = thrown.message;
    }
    return this.#connection;
  }

  #canWrite(connection: Connection): boolean {
    return this.#unsynced === undefined && this.#isInPlace(connection);
  }

  #isInPlace({ identity }: Connection): boolean {
    const problem = identity.problem();
    if (problem !== undefined) this.#problem = problem;
    return problem === undefined;
  }

  /**
   * Keeps the connection open, unless it is stuck in a transaction and no sync has failed. After a failed sync it stays
   * open in any case, because closing the last connection runs a checkpoint, which could write unsynced pages.
   */
  #noteFailure(failure: DatabaseFailed, connection: Connection): void {
    this.#problem = `the store cannot write ${this.#file}: ${failure.message}`;
    if (failure.suspect) this.#markUnsynced(failure.message, failure.isOfCommit);
    try {
      connection.database.exec("BEGIN; ROLLBACK");
    } catch (thrown) {
      if (!(thrown instanceof SqlError)) throw thrown;
      if (this.#unsynced !== undefined) return;
      closeQuietly(connection.database);
      this.#connection = undefined;
    }
  }

  #markUnsynced(reason: string, isOfCommit = false): void {
    this.#problem = `the store cannot sync ${this.#file}, and is writing it to a new file before it accepts writes again: ${reason}`;
    if (this.#unsynced !== undefined) return;
    noteUnsynced(this.#file);
    const wal = this.#wal();
    this.#unsynced = { frames: (isOfCommit ? wal?.readableBeforeLast : wal?.readable) ?? 0 };
  }

  /** Doubles the pause after each failed attempt, because each attempt may read and write the whole database. */
  #tryToRenew(connection: Connection, frames: number): void {
    if (performance.now() < this.#nextRenewalAt) return;
    try {
      this.#renew(connection, frames);
    } catch (thrown) {
      if (!(thrown instanceof Error)) throw thrown;
      this.#problem = `the store cannot write ${this.#file}: ${thrown.message}`;
      this.#renewalPauseMs = Math.min(2 * this.#renewalPauseMs, MAX_RENEWAL_PAUSE_MS);
      this.#nextRenewalAt = performance.now() + this.#renewalPauseMs;
    }
  }

  /** Throws SqlError, DatabaseRefused and system errors. */
  #renew({ database }: Connection, frames: number): void {
    const readable = readWal(`${this.#file}-wal`)?.readable ?? 0;
    if (readable < frames) {
      throw new Error(
        `a sync failed, and ${frames - readable} pages of its log can no longer be read; restart the engine to continue with the data on the disk, without the last writes`,
      );
    }
    renew(this.#file, database);
    this.#isRenewed = true;
  }

  #wal(): WalContent | undefined {
    try {
      return readWal(`${this.#file}-wal`);
    } catch {
      // The number of frames is unknown then.
      return undefined;
    }
  }

  #readsOnly(requests: readonly Request[], unclear: { readonly isUnclear?: true }): Answer[] {
    const problem = this.#problem;
    const connection = this.#connected();
    if (connection === undefined) return this.#allFailed(requests).map((answer) => ({ ...answer, ...unclear }));
    return answersTo(requests, (request) => {
      if (!isRead(connection.procedures, request)) return { status: "failed", message: String(problem), ...unclear };
      try {
        return runAlone(connection.procedures, request);
      } catch (thrown) {
        if (!(thrown instanceof DatabaseFailed)) throw thrown;
        return { status: "failed", message: thrown.message };
      }
    });
  }

  #allFailed(requests: readonly Request[]): Answer[] {
    return requests.map(() => ({ status: "failed", message: String(this.#problem) }));
  }
}

/**
 * Stores the time at a stop, so that the next start knows how long the engine did not run. Failures are ignored,
 * because an older time is stored already.
 */
function keepTime({ time }: Connection, now: BatchTime): void {
  try {
    time.begin(now, true);
    time.flush();
  } catch (thrown) {
    if (!(thrown instanceof SqlError)) throw thrown;
  }
}
