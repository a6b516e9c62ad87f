import { chmodSync, closeSync, openSync, statSync } from "node:fs";

/** Mode of files that only their owner can read and write. */
export const PRIVATE = 0o600;

/**
 * Makes a database readable for its owner only, even if others can read its folder. SQLite gives the same mode to the
 * files that it creates beside the database. Creates an empty file if it is missing, which SQLite treats as a new
 * database. Throws system errors.
 */
export function keepPrivate(file: string): void {
  // Do not open an existing file here: POSIX keeps locks per process, so closing the file would release SQLite's locks.
  if (statSync(file, { throwIfNoEntry: false }) === undefined) closeSync(openSync(file, "a", PRIVATE));
  for (const each of [file, `${file}-wal`, `${file}-shm`]) {
    const stats = statSync(each, { throwIfNoEntry: false });
    if (stats !== undefined && (stats.mode & 0o077) !== 0) restrict(each);
  }
}

/** Restricts access to the owner. Does nothing for files of other owners and on file systems without modes. */
function restrict(file: string): void {
  try {
    chmodSync(file, PRIVATE);
  } catch (error) {
    if (!["EPERM", "ENOTSUP", "EROFS"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}
