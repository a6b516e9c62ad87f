import { chmodSync, closeSync, openSync, statSync } from "node:fs";

/** Mode of files that only their owner may read and write. */
export const PRIVATE = 0o600;

/**
 * Makes a database readable for its owner only, whatever the mode of its folder: it holds what users store. SQLite gives the files beside it the same
 * mode. A file that does not exist is made, empty; SQLite takes it as a new database. Throws system errors.
 */
export function keepPrivate(file: string): void {
  // One that exists is not opened here: closing it would drop SQLite's locks, which POSIX keeps per process.
  if (statSync(file, { throwIfNoEntry: false }) === undefined) closeSync(openSync(file, "a", PRIVATE));
  for (const each of [file, `${file}-wal`, `${file}-shm`]) {
    const stats = statSync(each, { throwIfNoEntry: false });
    if (stats !== undefined && (stats.mode & 0o077) !== 0) restrict(each);
  }
}

/** A file of another owner, or on a file system without modes, stays as it is. */
function restrict(file: string): void {
  try {
    chmodSync(file, PRIVATE);
  } catch (error) {
    if (!["EPERM", "ENOTSUP", "EROFS"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}
