import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFileSync } from "../files/replace-file.ts";

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
    // On the disk before the node joins anything: after a power cut it must be the same node, or a new one.
    replaceFileSync(file, `${id}\n`);
    return id;
  }
}
