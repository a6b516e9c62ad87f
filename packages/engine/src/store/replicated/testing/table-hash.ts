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
    const rows = database.prepare(`SELECT * FROM "${name}"`).all();
    hash.update(
      `${name}\n${rows
        .map((row) => JSON.stringify(Object.values(row)))
        .sort()
        .join("\n")}\n`,
    );
  }
  return hash.digest("hex");
}
