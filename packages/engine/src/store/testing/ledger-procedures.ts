import { type Database, resultCodes, SqlError } from "../driver.ts";
import { type ProcedureTable, Refusal, read, type WriteBuffer, write } from "../procedures.ts";

/** Procedures for tests of the store: a list of numbered lines, and several kinds of failures. */
export const schema: readonly string[] = [
  "CREATE TABLE lines (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
  "CREATE TABLE notes (line INTEGER NOT NULL REFERENCES lines (id) DEFERRABLE INITIALLY DEFERRED)",
];

export function openProcedures(database: Database, useBuffer: (buffer: WriteBuffer) => void) {
  database.exec("PRAGMA foreign_keys=ON");
  const insert = database.prepare("INSERT INTO lines (text) VALUES (?)");
  const all = database.prepare<{ readonly text: string }>("SELECT text FROM lines ORDER BY id");
  const note = database.prepare("INSERT INTO notes (line) VALUES (?)");
  const pending: string[] = [];
  useBuffer({
    flush() {
      for (const text of pending.splice(0)) insert.run(text);
    },
    discard() {
      pending.length = 0;
    },
  });
  return {
    /** Adds the line when the transaction is committed. */
    addLater: write((text: string) => pending.push(text)),
    add: write((text: string) => insert.run(text).changes),
    /** Adds the line with its number, so that it can be added twice. */
    addNumbered: write((text: string) => insert.run(`${text}#${all.all().length + 1}`).changes),
    texts: read((_: null) => all.all().map((row) => row.text)),
    /** Writes, then throws. */
    addThenRefuse: write((text: string): never => {
      insert.run(text);
      throw new Refusal("state_conflict", `${text} is not wanted`, { text });
    }),
    addThenThrow: write((text: string): never => {
      insert.run(text);
      throw new Error("a defect");
    }),
    /** Violates a constraint that SQLite checks only at the commit. */
    breakCommit: write((_: null) => note.run(4711).changes),
    /** Fails like a disk that cannot sync. */
    breakDisk: write((_: null): never => {
      throw new SqlError("disk I/O error", resultCodes.ioError, undefined);
    }),
    /** Limits the file's size, so that later writes fail like on a full disk. */
    fillDisk: write((_: null) => database.prepare("PRAGMA max_page_count=1").get()?.max_page_count ?? null),
    freeDisk: read((_: null) => database.prepare("PRAGMA max_page_count=1000000").get()?.max_page_count ?? null),
    endThread: read((_: null): never => process.exit(3)),
    waitMs: read((ms: number) => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
      return ms;
    }),
  } satisfies ProcedureTable;
}

export type LedgerProcedures = ReturnType<typeof openProcedures>;
