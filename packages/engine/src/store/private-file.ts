import { chmodSync, closeSync, openSync, statSync } from "node:fs";

/** Mode of files that only their owner can read and write. */
export const PRIVATE = 0o600;

/**
 * Makes a database readable only for its owner, whatever the mode of its folder. SQLite creates the files beside it
 * with the same mode. Creates an empty file if it is missing, which SQLite treats as a new database. Throws system
 * errors.
 */
export function keepPrivate(file: string): void {
  // An existing file must not be opened here: closing it would release SQLite's locks, which POSIX keeps per process.
  if (statSync(file, { throwIfNoEntry: false }) === undefined) closeSync(openSync(file, "a", PRIVATE));
  for (const each of [file, `${file}-wal`, `${file}-shm`]) {
    const stats = statSync(each, { throwIfNoEntry: false });
    if (stats !== undefined && (stats.mode & 0o077) !== 0) restrict(each);
  }
}

/** Restricts access to the owner. Ignores files of other owners and file systems without modes. */
function restrict(file: string): void {
  try {
    chmodSync(file, PRIVATE);
  } catch (error) {
    if (!["EPERM", "ENOTSUP", "EROFS"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}
