import { createHash } from "node:crypto";
import { appendFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { MemoryLog } from "../../../cluster/testing/memory-log.ts";
import { type Database, defaultDriver, openDatabase } from "../../driver.ts";
import type { ProceduresModule } from "../../procedures.ts";
import { openMemoryDatabase } from "../open-replica.ts";
import { Replica } from "../replica.ts";

/** A log as an earlier version wrote it, and what its replica then contained. */
export interface RecordedLog {
  /** Folder of the procedures, e.g. `modules/queue/store`. */
  readonly store: string;
  readonly identity: string;
  /** Entries, each with its id and its text. */
  readonly entries: readonly (readonly [id: string, text: string])[];
  /** Number of versions that the schema had. */
  readonly schema: number;
  /** Hash of the answers to all requests. */
  readonly answers: string;
  /** Hash of the rows of the tables that the schema had, without columns that later versions added. */
  readonly rows: string;
}

/** A log with an entry above this size is not recorded, in bytes. */
const MAX_ENTRY_BYTES = 4_096;

/** Adds a log to the file that SVC_RECORD_LOGS names, if it does. */
export async function recordLog(log: MemoryLog, procedures: URL): Promise<void> {
  const file = process.env.SVC_RECORD_LOGS;
  if (file === undefined) return;
  const { identity, last } = log.state();
  const entries = Array.from({ length: last }, (_, index) => log.at(index + 1)).flatMap((entry) => entry ?? []);
  if (entries.some(({ bytes }) => bytes.length > MAX_ENTRY_BYTES)) return;
  const module = (await import(procedures.href)) as ProceduresModule;
  const texts = entries.map(({ id, bytes }) => [id, Buffer.from(bytes).toString()] as const);
  const recorded = { store: storeOf(procedures), identity, entries: texts, schema: module.schema.length };
  appendFileSync(file, `${JSON.stringify({ ...recorded, ...replay(recorded, module) })}\n`);
}

function storeOf(procedures: URL): string {
  const folder = dirname(fileURLToPath(procedures));
  return `${folder.split("/dist/").at(-1)}/${basename(procedures.pathname, ".js")}`;
}

/** Applies the entries of a log to an empty replica. Throws if one cannot be applied. */
export function replay(
  { identity, entries, schema }: Pick<RecordedLog, "identity" | "entries" | "schema">,
  module: ProceduresModule,
): Pick<RecordedLog, "answers" | "rows"> {
  const driver = defaultDriver();
  const database = openMemoryDatabase(module, { driver, seed: undefined });
  try {
    const replica = new Replica(database, module, { identity, run: "replay" });
    const { failure } = replica.apply(
      entries.map(([id, text], index) => ({ position: index + 1, id, bytes: Buffer.from(text), reads: [] })),
    );
    if (failure !== undefined) throw new Error(failure.reason);
    return { answers: replica.opened.state.digest, rows: rowsHash(database, module.schema.slice(0, schema)) };
  } finally {
    database.close();
  }
}

/** Columns of each table of a schema, by the SQL of the schema: creating it takes longer than a replay. */
const tablesOfSchemas = new Map<string, ReadonlyMap<string, readonly string[]>>();

/** Returns a hash of all rows of a schema's tables, whatever later versions added to them. */
function rowsHash(database: Database, schema: readonly string[]): string {
  const hash = createHash("sha256");
  for (const [name, columns] of tablesOf(schema.join(";\n"))) {
    const rows = database.prepare(`SELECT ${columns.join(", ")} FROM "${name}"`).all();
    const texts = rows.map((row) => JSON.stringify(Object.values(row))).sort();
    hash.update(`${name}\n${columns.join(", ")}\n${texts.join("\n")}\n`);
  }
  return hash.digest("hex");
}

function tablesOf(schema: string): ReadonlyMap<string, readonly string[]> {
  const known = tablesOfSchemas.get(schema);
  if (known !== undefined) return known;
  const database = openDatabase(":memory:");
  try {
    database.exec(schema);
    const names = database
      .prepare<{ name: string }>(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
      )
      .all();
    const columns = database.prepare<{ name: string }>("SELECT name FROM pragma_table_info(?) ORDER BY name");
    const tables = new Map(
      names.map(({ name }) => [name, columns.all(name).map((column) => `"${column.name}"`)] as const),
    );
    tablesOfSchemas.set(schema, tables);
    return tables;
  } finally {
    database.close();
  }
}
