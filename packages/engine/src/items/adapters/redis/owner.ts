import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFileSync } from "../../../files/replace-file.ts";

const uuid = /^[0-9a-f-]{36}$/;

/**
 * The name under which this engine's deliveries lie in a Redis that others may use too. Made once and kept in the data folder, so that the engine finds them
 * again. Throws what the file system throws.
 */
export function ownerOf(dataDir: string): string {
  const file = join(dataDir, "redis-owner");
  try {
    const known = readFileSync(file, "utf8").trim();
    if (uuid.test(known)) return known;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const made = randomUUID();
  replaceFileSync(file, `${made}\n`);
  return made;
}
