import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFileSync } from "../files/replace-file.ts";

const FILE = "node-id";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Returns the id of the node that owns a data folder. Creates it if it is missing. The folder must be locked, so that a
 * node has only one run at a time. Throws an Error if the id cannot be read or written.
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
    // The id must be on disk before the node joins a log. After a power cut the node then has the same id, or never
    // joined with the lost one.
    replaceFileSync(file, `${id}\n`);
    return id;
  }
}
