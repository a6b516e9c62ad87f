import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FILE = "node-id";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Returns the id of the node whose data are in a folder, and creates it if there is none. The folder's lock says that
 * the node has one run at a time. Throws an Error if it cannot be read or written.
 */
export function nodeIdOf(dataDir: string): string {
  const file = join(dataDir, FILE);
  try {
    const id = readFileSync(file, "utf8").trim();
    if (UUID.test(id)) return id;
    throw new Error(`${file} is damaged; remove it, the engine then joins its cluster as a new node`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    const id = randomUUID();
    writeFileSync(file, `${id}\n`, { mode: 0o600, flag: "wx" });
    return id;
  }
}
