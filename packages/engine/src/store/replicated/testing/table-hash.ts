import { createHash } from "node:crypto";
import { type Database, openDatabase } from "../../driver.ts";

/** Returns a hash of all rows of all tables of a database file. */
export function tableHash(file: string): string {
  const database = openDatabase(file);
  try {
    return tableHashOf(database);
  } finally {
    database.close();
  }
}

/** Returns a hash of all rows of all tables of a database. */
export function tableHashOf(database: Database): string {
  const hash = createHash("sha256");
  const tables = database
    .prepare<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all();
  for (const { name } of tables) {
    // Row by row: all of a large table is too long for one string.
    const rows: string[] = [];
    for (const row of database.prepare(`SELECT * FROM "${name}"`).iterate())
      rows.push(
        createHash("sha256")
          .update(JSON.stringify(Object.values(row)))
          .digest("hex"),
      );
    hash.update(`${name}\n${rows.sort().join("\n")}\n`);
  }
  return hash.digest("hex");
}
