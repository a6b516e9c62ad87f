import { answersTo, DatabaseFailed, isRead, runAlone, runBatch } from "./batch.ts";
import { DatabaseRefused } from "./damage.ts";
import { closeDatabaseFile, closeQuietly, openDatabaseFile, type StoreDurability } from "./database-file.ts";
import { type Database, type DriverName, SqlError } from "./driver.ts";
import { FileIdentity } from "./file-identity.ts";
import type { Gathering, ProceduresModule, ProcedureTable } from "./procedures.ts";
import { isUnsynced, noteUnsynced, renew } from "./renewal.ts";
import type { Answer, Request } from "./thread-messages.ts";
import { readWal, type WalContent } from "./wal-file.ts";

interface Connection {
  readonly database: Database;
  readonly procedures: ProcedureTable;
  readonly gathering: Gathering;
  readonly identity: FileIdentity;
}

/** Pauses between attempts to write the database to a new file, in milliseconds. */
const MIN_RENEWAL_PAUSE_MS = 250;
const MAX_RENEWAL_PAUSE_MS = 5_000;

const NOTHING_GATHERED: Gathering = { flush: () => {}, discard: () => {} };

/**
 * One database file over its whole life in the store thread: opened, used batch by batch, closed.
 * What was answered as done is on the disk, of a `relaxed` session at the next sync; after a failed commit nothing of that batch is answered as done.
 * After a failed sync no write is answered as done before the database was written to a new file; see renewal.ts.
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
  /** A sync failed. `frames`: how many frames of the log could be read then; later it must be as many. */
  #unsynced: { readonly frames: number } | undefined;
  #isRenewed = false;
  /** On the monotonic clock, milliseconds. */
  #nextRenewalAt = 0;
  #renewalPauseMs = MIN_RENEWAL_PAUSE_MS;

  /** Throws DatabaseRefused. */
  constructor(file: string, module: ProceduresModule, driver: DriverName, durability: StoreDurability = "durable") {
    this.#file = file;
    this.#module = module;
    this.#driver = driver;
    this.#durability = durability;
    this.#connection = this.#open();
    if (isUnsynced(file)) this.#distrust("a sync failed before the last stop");
  }

  /** Why nothing can be written at present; undefined when it can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** What the opening found to be lost; undefined when nothing was. */
  get damage(): string | undefined {
    return this.#damage;
  }

  /** Whether the stop before the opening was not clean. */
  get wasUnclean(): boolean {
    return this.#wasUnclean;
  }

  /** The new file is ready. The thread must end: only then are all connections to the old file closed, and the next opening puts the new one in its place. */
  get isRenewed(): boolean {
    return this.#isRenewed;
  }

  /** Answers the first of the requests, at least one; those that got no answer were not begun. */
  run(requests: readonly Request[]): Answer[] {
    const connection = this.#connected();
    if (connection === undefined) return this.#allFailed(requests);
    const writes = requests.some((request) => !isRead(connection.procedures, request));
    if (writes && !this.#mayWrite(connection)) return this.#readsOnly(requests, {});
    let answers: Answer[];
    try {
      answers = runBatch(connection.database, connection.procedures, connection.gathering, requests);
    } catch (thrown) {
      if (!(thrown instanceof DatabaseFailed)) throw thrown;
      this.#noteFailure(thrown, connection);
      // What a failed sync left in the log may be found there when the file is opened again.
      return this.#readsOnly(requests, thrown.suspect ? { isUnclear: true } : {});
    }
    if (!writes) return answers;
    // The commit may have gone into a file that was removed meanwhile.
    if (!this.#isInPlace(connection)) return this.#readsOnly(requests, { isUnclear: true });
    this.#problem = undefined;
    return answers;
  }

  /** Tries to write again after a failure, and to renew the file after a failed sync. */
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

  /** Finds out whether the files are still in their place, for a store that is not written to. */
  checkPlace(): void {
    if (this.#connection !== undefined) this.#isInPlace(this.#connection);
  }

  /** What was written last may not have reached the disk. */
  noteUnsynced(reason: string): void {
    this.#distrust(`the writes of the last second would not survive a power cut: ${reason}`);
  }

  /** Throws an Error when the log could not be written back; nothing is lost then, but the next start checks the file. */
  close(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection === undefined) return;
    try {
      // What would be written back may not be on the disk; the next opening puts the new file in place.
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
      let gathering = NOTHING_GATHERED;
      const procedures = this.#module.openProcedures(database, (given) => {
        gathering = given;
      });
      return { database, procedures, gathering, identity: new FileIdentity(this.#file) };
    } catch (thrown) {
      closeQuietly(database);
      throw thrown instanceof SqlError ? new DatabaseRefused(`the database ${this.#file} cannot be used: ${thrown.message}`, thrown) : thrown;
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

  #mayWrite(connection: Connection): boolean {
    return this.#unsynced === undefined && this.#isInPlace(connection);
  }

  #isInPlace({ identity }: Connection): boolean {
    const problem = identity.problem();
    if (problem !== undefined) this.#problem = problem;
    return problem === undefined;
  }

  /** The connection stays open unless it is stuck: closing the last one writes the log back, through pages that may not be on the disk. */
  #noteFailure(failure: DatabaseFailed, connection: Connection): void {
    this.#problem = `the store cannot write ${this.#file}: ${failure.message}`;
    if (failure.suspect) this.#distrust(failure.message, failure.isOfCommit);
    try {
      connection.database.exec("BEGIN; ROLLBACK");
    } catch (thrown) {
      if (!(thrown instanceof SqlError)) throw thrown;
      if (this.#unsynced !== undefined) return;
      closeQuietly(connection.database);
      this.#connection = undefined;
    }
  }

  #distrust(reason: string, isOfCommit = false): void {
    this.#problem = `the store cannot sync ${this.#file}, and writes it to a new file before it takes writes again: ${reason}`;
    if (this.#unsynced !== undefined) return;
    noteUnsynced(this.#file);
    const wal = this.#wal();
    this.#unsynced = { frames: (isOfCommit ? wal?.readableBeforeLast : wal?.readable) ?? 0 };
  }

  /** The pause after a failed attempt doubles, since each may read and write the whole database. */
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
        `a sync failed, and ${frames - readable} pages of its log can no longer be read; restart the engine to go on with what is on the disk, without the last writes`,
      );
    }
    renew(this.#file, database);
    this.#isRenewed = true;
  }

  #wal(): WalContent | undefined {
    try {
      return readWal(`${this.#file}-wal`);
    } catch {
      // Then it is not known how many frames there must be.
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
