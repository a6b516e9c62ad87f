import { type Database, resultCodes, SqlError } from "../driver.ts";
import { type ProcedureTable, Refusal, read, type WriteBuffer, write } from "../procedures.ts";

/** A small set of procedures for the store's own tests: a list of numbered lines, and ways to go wrong. */
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
    /** Adds the line at the end of the transaction. */
    addLater: write((text: string) => pending.push(text)),
    add: write((text: string) => insert.run(text).changes),
    texts: read((_: null) => all.all().map((row) => row.text)),
    /** Writes, then thinks better of it. */
    addThenRefuse: write((text: string): never => {
      insert.run(text);
      throw new Refusal("state_conflict", `${text} is not wanted`, { text });
    }),
    addThenThrow: write((text: string): never => {
      insert.run(text);
      throw new Error("a defect");
    }),
    /** Breaks a rule that SQLite looks at only when it commits. */
    breakCommit: write((_: null) => note.run(4711).changes),
    /** Fails as on a disk that cannot sync. */
    breakDisk: write((_: null): never => {
      throw new SqlError("disk I/O error", resultCodes.ioError, undefined);
    }),
    /** From now on the file may not grow: writes fail as on a full disk. */
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
