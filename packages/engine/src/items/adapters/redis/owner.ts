import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";

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
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  writeSynced(`${file}.part`, `${made}\n`);
  renameSync(`${file}.part`, file);
  syncFolder(dataDir);
  return made;
}

function writeSynced(file: string, text: string): void {
  const handle = openSync(file, "w", 0o600);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** A renamed file is there after a power cut only once its folder is on the disk. */
function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
