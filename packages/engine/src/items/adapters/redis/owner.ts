import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFileSync } from "../../../files/replace-file.ts";

const uuid = /^[0-9a-f-]{36}$/;

/**
 * Returns the owner name of this engine's deliveries in Redis. It is created once and stored in the data folder, so
 * that the engine finds its deliveries after a restart. Throws the file system's error.
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
