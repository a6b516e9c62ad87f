import { DatabaseFailed, isRead, runAlone, runBatch } from "./batch.ts";
import { closeDatabaseFile, closeQuietly, DatabaseRefused, openDatabaseFile } from "./database-file.ts";
import { type Database, type DriverName, SqlError } from "./driver.ts";
import type { ProceduresModule, ProcedureTable } from "./procedures.ts";
import type { Answer, Request } from "./thread-messages.ts";

interface Connection {
  readonly database: Database;
  readonly procedures: ProcedureTable;
}

/**
 * One database file over its whole life in the store thread: opened, used batch by batch, reopened after a failure, closed.
 * What was answered as done is on the disk; after a failed commit nothing of that batch is answered as done.
 */
export class Session {
  readonly #file: string;
  readonly #module: ProceduresModule;
  readonly #driver: DriverName;
  #connection: Connection | undefined;
  #suspect = false;
  #problem: string | undefined;

  /** Throws DatabaseRefused. */
  constructor(file: string, module: ProceduresModule, driver: DriverName) {
    this.#file = file;
    this.#module = module;
    this.#driver = driver;
    this.#connection = this.#open();
  }

  /** Why the last attempt to write failed; undefined when it did not. */
  get problem(): string | undefined {
    return this.#problem;
  }

  run(requests: readonly Request[]): Answer[] {
    const connection = this.#connected();
    if (connection === undefined) return this.#allFailed(requests);
    try {
      const answers = runBatch(connection.database, connection.procedures, requests);
      if (requests.some((request) => !isRead(connection.procedures, request))) this.#problem = undefined;
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
      connection.database.exec(`PRAGMA user_version=${this.#module.schema.length}`);
      this.#problem = undefined;
    } catch (thrown) {
      this.#problem = `the store cannot write ${this.#file}: ${textOf(thrown)}`;
    }
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
    const database = openDatabaseFile({ file: this.#file, schema: this.#module.schema, check, driver: this.#driver });
    this.#suspect = false;
    try {
      return { database, procedures: this.#module.openProcedures(database) };
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
    return requests.map((request) => {
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
