import { answersTo, DatabaseFailed, isRead, runAlone, runBatch } from "./batch.ts";
import { closeDatabaseFile, closeQuietly, DatabaseRefused, openDatabaseFile, type StoreDurability } from "./database-file.ts";
import { type Database, type DriverName, SqlError } from "./driver.ts";
import type { Gathering, ProceduresModule, ProcedureTable } from "./procedures.ts";
import type { Answer, Request } from "./thread-messages.ts";

interface Connection {
  readonly database: Database;
  readonly procedures: ProcedureTable;
  readonly gathering: Gathering;
}

const NOTHING_GATHERED: Gathering = { flush: () => {}, discard: () => {} };

/**
 * One database file over its whole life in the store thread: opened, used batch by batch, reopened after a failure, closed.
 * What was answered as done is on the disk, of a `relaxed` session at the next sync; after a failed commit nothing of that batch is answered as done.
 */
export class Session {
  readonly #file: string;
  readonly #module: ProceduresModule;
  readonly #driver: DriverName;
  readonly #durability: StoreDurability;
  #connection: Connection | undefined;
  #suspect = false;
  #problem: string | undefined;
  /** The log could not be synced: nothing more is written before all of it was written back into the file and is on the disk there. */
  #mustWriteBack = false;

  /** Throws DatabaseRefused. */
  constructor(file: string, module: ProceduresModule, driver: DriverName, durability: StoreDurability = "durable") {
    this.#file = file;
    this.#module = module;
    this.#driver = driver;
    this.#durability = durability;
    this.#connection = this.#open();
  }

  /** Why the last attempt to write failed; undefined when it did not. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Answers the first of the requests, at least one; those that got no answer were not begun. */
  run(requests: readonly Request[]): Answer[] {
    const connection = this.#connected();
    if (connection === undefined) return this.#allFailed(requests);
    const writes = requests.some((request) => !isRead(connection.procedures, request));
    try {
      if (writes) this.#writeBack(connection.database);
      const answers = runBatch(connection.database, connection.procedures, connection.gathering, requests);
      if (writes) this.#problem = undefined;
      return answers;
    } catch (thrown) {
      if (!(thrown instanceof DatabaseFailed)) throw thrown;
      this.#drop(thrown);
      return this.#readsOnly(requests);
    }
  }

  /** Writes something small, to learn whether the disk takes writes again. */
  probe(): void {
    const connection = this.#connected();
    if (connection === undefined) return;
    try {
      this.#writeBack(connection.database);
      connection.database.exec(`PRAGMA user_version=${this.#module.schema.length}`);
      this.#problem = undefined;
    } catch (thrown) {
      this.#problem = `the store cannot write ${this.#file}: ${textOf(thrown)}`;
    }
  }

  /** What was written last may not have reached the disk. */
  noteUnsynced(reason: string): void {
    this.#mustWriteBack = true;
    this.#problem = `the store cannot sync ${this.#file}, and the writes of the last second would not survive a power cut: ${reason}`;
  }

  /** Throws SqlError when the log could not be written back; nothing is lost then, but the next start checks the file. */
  close(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection === undefined) return;
    try {
      closeDatabaseFile(connection.database);
    } catch (thrown) {
      closeQuietly(connection.database);
      throw thrown;
    }
  }

  #open(): Connection {
    const check = this.#suspect ? "always" : "after-unclean-stop";
    const database = openDatabaseFile({ file: this.#file, schema: this.#module.schema, check, driver: this.#driver, durability: this.#durability });
    this.#suspect = false;
    try {
      let gathering = NOTHING_GATHERED;
      const procedures = this.#module.openProcedures(database, (given) => {
        gathering = given;
      });
      return { database, procedures, gathering };
    } catch (thrown) {
      closeQuietly(database);
      throw thrown instanceof SqlError ? new DatabaseRefused(`the database ${this.#file} cannot be used: ${thrown.message}`, thrown) : thrown;
    }
  }

  /** Throws DatabaseFailed. */
  #writeBack(database: Database): void {
    if (!this.#mustWriteBack) return;
    try {
      database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all();
    } catch (thrown) {
      throw thrown instanceof SqlError ? new DatabaseFailed(thrown, "the sync of the log") : thrown;
    }
    this.#mustWriteBack = false;
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

  /** The page that failed may be anything now, so the connection and its cache are thrown away. */
  #drop(failure: DatabaseFailed): void {
    closeQuietly(this.#connection?.database);
    this.#connection = undefined;
    this.#suspect = failure.suspect;
    this.#problem = `the store cannot write ${this.#file}: ${failure.message}`;
  }

  #readsOnly(requests: readonly Request[]): Answer[] {
    const problem = this.#problem;
    const connection = this.#connected();
    if (connection === undefined) return this.#allFailed(requests);
    return answersTo(requests, (request) => {
      if (!isRead(connection.procedures, request)) return { status: "failed", message: String(problem) };
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

function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
