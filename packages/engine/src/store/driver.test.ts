import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import {
  type Database,
  type DriverName,
  defaultDriver,
  openDatabase,
  resultCodes,
  type SqlRow,
  type SqlValue,
} from "./driver.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-driver-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const drivers: readonly DriverName[] = defaultDriver() === "libsql" ? ["libsql"] : ["libsql", "node:sqlite"];

describe.each(drivers)("the driver %s", (driver) => {
  let files = 0;
  function open(): Database {
    files += 1;
    return openDatabase(join(folder, `${driver.replace(":", "-")}-${files}.db`), driver);
  }

  it("gives back every kind of value as it was bound, and rows with nothing but their columns", () => {
    const database = open();
    database.exec("CREATE TABLE t (a, b, c, d)");
    const insert = database.prepare("INSERT INTO t VALUES (?, ?, ?, ?)");
    expect(insert.run(null, 1.5, "é😀", new Uint8Array([0, 255]))).toEqual({ changes: 1, rowid: 1 });
    const row = { a: null, b: 1.5, c: "é😀", d: Buffer.from([0, 255]) };
    const plain = (found: SqlRow | undefined) => ({ ...found, d: Buffer.from(found?.d as Uint8Array) });
    const select = database.prepare("SELECT * FROM t WHERE b = ?");
    expect(plain(select.get(1.5))).toEqual(row);
    expect(select.all(1.5).map(plain)).toEqual([row]);
    expect([...select.iterate(1.5)].map(plain)).toEqual([row]);
    expect(insert.run(7, 7, 7, 7)).toEqual({ changes: 1, rowid: 2 });
    expect(select.get(2)).toBeUndefined();
    expect(select.all(2)).toEqual([]);
    database.close();
  });

  it("gives each execution of a statement its own parameters, in whatever order its ways to run are mixed", () => {
    const database = open();
    database.exec("PRAGMA journal_mode=WAL; CREATE TABLE t (n INTEGER, m INTEGER); BEGIN");
    const insert = database.prepare("INSERT INTO t VALUES (?, ?)");
    for (let n = 0; n < 4; n++) for (let m = 0; m < n * 60; m++) insert.run(n, m);
    database.exec("COMMIT");
    const checkpoint = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
    const select = database.prepare("SELECT m FROM t WHERE n = ? ORDER BY m");
    const touch = database.prepare("UPDATE t SET m = m WHERE n = ? RETURNING m");
    const values = (n: number) => Array.from({ length: n < 4 ? n * 60 : 0 }, (_, m) => m);
    const column = (rows: readonly SqlRow[]) => rows.map((row) => row.m);
    const ways: readonly ((n: number) => void)[] = [
      (n) => expect(select.get(n)?.m).toBe(values(n)[0]),
      (n) => expect(column(select.all(n))).toEqual(values(n)),
      (n) => expect(column([...select.iterate(n)])).toEqual(values(n)),
      (n) => expect(touch.get(n)?.m).toBe(values(n)[0]),
      (n) => expect(column(touch.all(n))).toEqual(values(n)),
      // Fails while a statement is unfinished.
      () => expect(checkpoint.get()).toMatchObject({ busy: 0 }),
    ];
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...ways), fc.nat(5)), { maxLength: 30 }), (steps) => {
        for (const [way, n] of steps) way(n);
      }),
      { numRuns: 30 },
    );
    database.close();
  });

  it("stores integers up to 2^53 exactly in INTEGER columns", () => {
    const database = open();
    database.exec("CREATE TABLE t (n INTEGER)");
    for (const n of [0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
      database.prepare("INSERT INTO t VALUES (?)").run(n);
      expect(database.prepare("SELECT n, typeof(n) AS type FROM t WHERE n = ?").get(n)).toMatchObject({
        n,
        type: "integer",
      });
    }
    database.close();
  });

  it("refuses a parameter that is no SQL value instead of ending the process", () => {
    const database = open();
    const statement = database.prepare("SELECT ? AS x");
    for (const wrong of [true, undefined, {}, 1n])
      expect(() => statement.get(wrong as unknown as SqlValue)).toThrow(/a SQL parameter must be/);
    database.close();
  });

  it("gives SQLite's result code with each failure", () => {
    const database = open();
    database.exec("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)");
    expect(() => database.prepare("INSERT INTO t VALUES (1)").run()).toThrow(
      expect.objectContaining({ name: "SqlError", resultCode: resultCodes.constraint }),
    );
    expect(() => database.exec("INSERT INTO t VALUES (1)")).toThrow(
      expect.objectContaining({ resultCode: resultCodes.constraint }),
    );
    expect(() => database.prepare("SELECT nonsense")).toThrow(expect.objectContaining({ resultCode: 1 }));
    database.close();
    const text = join(folder, `${driver.replace(":", "-")}.txt`);
    writeFileSync(text, "not a database. ".repeat(500));
    expect(() => openDatabase(text, driver).prepare("SELECT * FROM sqlite_schema").all()).toThrow(
      expect.objectContaining({ resultCode: resultCodes.notADatabase }),
    );
    expect(() => openDatabase(join(folder, "nowhere", "x.db"), driver)).toThrow(
      expect.objectContaining({ resultCode: resultCodes.cannotOpen, message: "unable to open database file" }),
    );
  });
});
