import { createRequire } from "node:module";

/** What a column holds and a parameter may be. Integers are exact up to 2^53. */
export type SqlValue = null | number | string | Uint8Array;

export type SqlRow = { readonly [column: string]: SqlValue };

/** One prepared statement. Positional parameters (`?`) only. */
export interface Statement<Row extends SqlRow = SqlRow> {
  run(...parameters: readonly SqlValue[]): { readonly changes: number };
  /** The first row, or undefined. */
  get(...parameters: readonly SqlValue[]): Row | undefined;
  all(...parameters: readonly SqlValue[]): Row[];
  /** Rows as they are read. Run it to the end: a statement left half-way keeps its snapshot open. */
  iterate(...parameters: readonly SqlValue[]): IterableIterator<Row>;
}

/** One SQLite connection; all of it blocks. Failures are SqlError. */
export interface Database {
  prepare<Row extends SqlRow = SqlRow>(sql: string): Statement<Row>;
  /** Runs one or several statements; rows are thrown away. */
  exec(sql: string): void;
  close(): void;
}

export type DriverName = "node:sqlite" | "libsql";

/** SQLite's primary result codes that this code base branches on. */
export const resultCodes = { busy: 5, readonly: 8, ioError: 10, corrupt: 11, full: 13, cannotOpen: 14, constraint: 19, notADatabase: 26 } as const;

/** SQLite said no. */
export class SqlError extends Error {
  /** Primary result code, e.g. 13 for SQLITE_FULL; 1 when SQLite gave none. */
  readonly resultCode: number;

  constructor(message: string, resultCode: number, cause: unknown) {
    super(message, { cause });
    this.name = "SqlError";
    this.resultCode = resultCode;
  }
}

/** The driver that this runtime gets: its own SQLite where it has one (Node 22.13 and later), else the package `libsql`. */
export function defaultDriver(): DriverName {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 13) ? "node:sqlite" : "libsql";
}

/**
 * Opens `file`, making it when missing (not its folder). Nothing is read yet: a file that is no database shows at the first statement.
 * Throws SqlError.
 */
export function openDatabase(file: string, driver: DriverName = defaultDriver()): Database {
  return wrap(translated(() => new (driver === "libsql" ? loadLibsql() : loadNodeSqlite())(file)));
}

/** What the two drivers have in common; both are made after the same model. */
interface NativeStatement {
  run(...parameters: readonly SqlValue[]): { readonly changes: number | bigint };
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
  // Node 22 prints an ExperimentalWarning for it at each start, which is nothing to the user of an engine.
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
  // After `all` or `iterate`, libsql's `get` and `run` use the parameters of before. So rows are read through a statement of their own.
  let forRows: NativeStatement | undefined;
  const rowsOf = (parameters: readonly SqlValue[]): Iterable<unknown> => {
    forRows ??= database.prepare(sql);
    return forRows.iterate(...parameters);
  };
  return {
    run(...parameters) {
      checkParameters(parameters);
      return translated(() => ({ changes: Number(native.run(...parameters).changes) }));
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

/** libsql ends the whole process on a boolean, so what types should have kept out is refused here. */
function checkParameters(parameters: readonly SqlValue[]): void {
  for (const parameter of parameters) {
    const type = typeof parameter;
    if (type !== "string" && type !== "number" && parameter !== null && !(parameter instanceof Uint8Array)) {
      throw new TypeError(`a SQL parameter must be null, number, string or Uint8Array, not ${type}`);
    }
  }
}

/** libsql adds a `_metadata` member to single rows and gives blobs as ArrayBuffer. */
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
  // The low byte of an extended code is the primary one.
  return new SqlError(libsqlOpenFailure.test(message) ? "unable to open database file" : message, extended & 0xff, thrown);
}

function numberAt(thrown: unknown, property: "errcode" | "rawCode"): number | undefined {
  const value: unknown = typeof thrown === "object" && thrown !== null ? Reflect.get(thrown, property) : undefined;
  return typeof value === "number" ? value : undefined;
}

/** libsql's error for a file that cannot be opened carries its code only at the end of the text. */
const libsqlOpenFailure = /^ConnectionFailed\("(.*): (\d+)"\)$/;

function codeInText(message: string): number {
  return Number(libsqlOpenFailure.exec(message)?.[2] ?? 1);
}
