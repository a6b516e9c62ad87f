import { createRequire } from "node:module";

/** Value of a column or parameter. Integers are exact up to 2^53. */
export type SqlValue = null | number | string | Uint8Array;

export type SqlRow = { readonly [column: string]: SqlValue };

/** A prepared statement. Supports positional parameters (`?`) only. */
export interface Statement<Row extends SqlRow = SqlRow> {
  /** `rowid` is the id of the row that this connection inserted last. */
  run(...parameters: readonly SqlValue[]): { readonly changes: number; readonly rowid: number };
  /** Returns the first row, or undefined. */
  get(...parameters: readonly SqlValue[]): Row | undefined;
  all(...parameters: readonly SqlValue[]): Row[];
  /**
   * Yields rows as they are read. Must be consumed to the end: an unfinished statement keeps its read snapshot open.
   */
  iterate(...parameters: readonly SqlValue[]): IterableIterator<Row>;
}

/** A SQLite connection. All methods block and throw SqlError. */
export interface Database {
  prepare<Row extends SqlRow = SqlRow>(sql: string): Statement<Row>;
  /** Runs one or several statements and ignores their rows. */
  exec(sql: string): void;
  close(): void;
}

export type DriverName = "node:sqlite" | "libsql";

/** SQLite's primary result codes that this code base branches on. */
export const resultCodes = {
  busy: 5,
  readonly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  constraint: 19,
  notADatabase: 26,
} as const;

/** Thrown for an error of SQLite. */
export class SqlError extends Error {
  /** Primary result code, e.g. 13 for SQLITE_FULL; 1 if unknown. */
  readonly resultCode: number;

  constructor(message: string, resultCode: number, cause: unknown) {
    super(message, { cause });
    this.name = "SqlError";
    this.resultCode = resultCode;
  }
}

/** Returns the driver for this version of Node: its built-in SQLite (22.13 and later), or the package `libsql`. */
export function defaultDriver(): DriverName {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 13) ? "node:sqlite" : "libsql";
}

/**
 * Opens `file`. Creates it if it is missing, but not its folder. Does not read the file yet: a file that is not a
 * database fails at the first statement. Throws SqlError.
 */
export function openDatabase(file: string, driver: DriverName = defaultDriver()): Database {
  return wrap(translated(() => new (driver === "libsql" ? loadLibsql() : loadNodeSqlite())(file)));
}

/** The part of the interface that both drivers have. */
interface NativeStatement {
  run(...parameters: readonly SqlValue[]): {
    readonly changes: number | bigint;
    readonly lastInsertRowid: number | bigint;
  };
  get(...parameters: readonly SqlValue[]): unknown;
  iterate(...parameters: readonly SqlValue[]): Iterable<unknown>;
}

interface NativeDatabase {
  prepare(sql: string): NativeStatement;
  exec(sql: string): unknown;
  close(): unknown;
}

type NativeConstructor = new (file: string) => NativeDatabase;

const load = createRequire(import.meta.url);

function loadLibsql(): NativeConstructor {
  return load("libsql") as NativeConstructor;
}

function loadNodeSqlite(): NativeConstructor {
  // Suppress the ExperimentalWarning that Node 22 prints at each start.
  const emitWarning = process.emitWarning;
  process.emitWarning = () => {};
  try {
    return (load("node:sqlite") as { readonly DatabaseSync: NativeConstructor }).DatabaseSync;
  } finally {
    process.emitWarning = emitWarning;
  }
}

function wrap(native: NativeDatabase): Database {
  return {
    prepare: <Row extends SqlRow>(sql: string) => wrapStatement<Row>(native, sql),
    exec: (sql) => translated(() => void native.exec(sql)),
    close: () => translated(() => void native.close()),
  };
}

function wrapStatement<Row extends SqlRow>(database: NativeDatabase, sql: string): Statement<Row> {
  const native = translated(() => database.prepare(sql));
  // After `all` or `iterate`, libsql's `get` and `run` reuse the previous parameters. So rows are read with a separate
  // statement.
  let forRows: NativeStatement | undefined;
  const rowsOf = (parameters: readonly SqlValue[]): Iterable<unknown> => {
    forRows ??= database.prepare(sql);
    return forRows.iterate(...parameters);
  };
  return {
    run(...parameters) {
      checkParameters(parameters);
      return translated(() => {
        const { changes, lastInsertRowid } = native.run(...parameters);
        return { changes: Number(changes), rowid: Number(lastInsertRowid) };
      });
    },
    get(...parameters) {
      checkParameters(parameters);
      const row = translated(() => native.get(...parameters));
      return row === undefined ? undefined : toRow<Row>(row);
    },
    all(...parameters) {
      checkParameters(parameters);
      return translated(() => Array.from(rowsOf(parameters), toRow<Row>));
    },
    *iterate(...parameters) {
      checkParameters(parameters);
      try {
        for (const row of rowsOf(parameters)) yield toRow<Row>(row);
      } catch (thrown) {
        throw toSqlError(thrown);
      }
    },
  };
}

/** libsql crashes the process on a boolean, so invalid parameters are rejected here. */
function checkParameters(parameters: readonly SqlValue[]): void {
  for (const parameter of parameters) {
    const type = typeof parameter;
    if (type !== "string" && type !== "number" && parameter !== null && !(parameter instanceof Uint8Array)) {
      throw new TypeError(`a SQL parameter must be null, number, string or Uint8Array, not ${type}`);
    }
  }
}

/**
 * Undoes two peculiarities of libsql: it adds a `_metadata` member to single rows, and returns blobs as ArrayBuffer.
 */
function toRow<Row extends SqlRow>(native: unknown): Row {
  const row = native as Record<string, unknown>;
  if (Object.hasOwn(row, "_metadata")) delete row._metadata;
  for (const column in row) {
    const value = row[column];
    if (value instanceof ArrayBuffer) row[column] = new Uint8Array(value);
  }
  return row as Row;
}

function translated<T>(action: () => T): T {
  try {
    return action();
  } catch (thrown) {
    throw toSqlError(thrown);
  }
}

function toSqlError(thrown: unknown): SqlError {
  if (thrown instanceof SqlError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const extended = numberAt(thrown, "errcode") ?? numberAt(thrown, "rawCode") ?? codeInText(message);
  // The low byte of an extended result code is the primary one.
  return new SqlError(
    libsqlOpenFailure.test(message) ? "unable to open database file" : message,
    extended & 0xff,
    thrown,
  );
}

function numberAt(thrown: unknown, property: "errcode" | "rawCode"): number | undefined {
  const value: unknown = typeof thrown === "object" && thrown !== null ? Reflect.get(thrown, property) : undefined;
  return typeof value === "number" ? value : undefined;
}

/** libsql's error for a file that cannot be opened has its code only at the end of the message. */
const libsqlOpenFailure = /^ConnectionFailed\("(.*): (\d+)"\)$/;

function codeInText(message: string): number {
  return Number(libsqlOpenFailure.exec(message)?.[2] ?? 1);
}
