import { type Database, openDatabase } from "../store/driver.ts";

/** SQL migrations, one for each version of a database. */
export type Schema = readonly string[];

/**
 * Schemas of the stores that may have logs. They are imported only when needed, because a running engine does not check
 * formats.
 */
const SCHEMAS: Readonly<Record<string, () => Promise<{ readonly schema: Schema }>>> = {
  state: () => import("../items/adapters/file-thread/schema.ts"),
  stream: () => import("../items/adapters/file-thread/schema.ts"),
  queue: () => import("../modules/queue/store/schema.ts"),
  cron: () => import("../modules/cron/store/procedures.ts"),
};

/** Returns the schema of a store, or undefined if this version of svc has no such store. */
export async function schemaOf(store: string): Promise<Schema | undefined> {
  return (await SCHEMAS[store]?.())?.schema;
}

/** Returns the reason why this version cannot read a database with this schema, or undefined. */
export function formatProblem(database: Database, schema: Schema): string | undefined {
  const version = Number(database.prepare("PRAGMA user_version").get()?.user_version);
  if (version > schema.length)
    return `has format version ${version}, and this version of svc knows versions up to ${schema.length}: use the version that wrote it`;
  const expected = openDatabase(":memory:");
  try {
    for (const sql of schema.slice(0, version)) expected.exec(sql);
    const names = tablesOf(expected);
    const differing = names.find((name) => columnsOf(database, name) !== columnsOf(expected, name));
    if (differing !== undefined)
      return `is no database of svc: it has no table ${differing}, or that table has other columns`;
    const own = version === 0 ? tablesOf(database).filter((name) => !name.startsWith("replica_")) : [];
    return own.length === 0 ? undefined : "is no database of svc: its format has no version";
  } finally {
    expected.close();
  }
}

function tablesOf(database: Database): readonly string[] {
  return database
    .prepare<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    .all()
    .map(({ name }) => name);
}

function columnsOf(database: Database, table: string): string {
  const rows = database.prepare<{ name: string }>("SELECT name FROM pragma_table_info(?) ORDER BY name").all(table);
  return rows.map(({ name }) => name).join(", ");
}
