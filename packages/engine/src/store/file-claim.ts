import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, isAbsolute, relative } from "node:path";
import { type DataFolderLock, lockDataFolder } from "./data-folder.ts";

/**
 * Database files that this process uses. Two modules must not share a file, because they would see each other's data.
 */
const inUse = new Set<string>();

/** Locks of folders outside the data folder. Several modules may have files in the same folder. */
const folderLocks = new Map<string, { readonly lock: DataFolderLock; users: number }>();

/**
 * Reserves the database file of the setting `file_path` for a module, and creates its folder if that is missing. Returns
 * a function that releases the file, to be called once. Throws an Error with the reason if the file cannot be used.
 * `what` names the content in messages, e.g. `items`.
 */
export function claimFile(
  file: string,
  { dataDir, what }: { readonly dataDir: string; readonly what: string },
): () => void {
  if (existsSync(file) && statSync(file).isDirectory()) {
    throw new Error(
      `file_path ${file} is a folder, but the ${what} are stored in a file; set a file that does not exist yet, e.g. ${file}/${what}.db`,
    );
  }
  if (inUse.has(file))
    throw new Error(`file_path ${file} is in use by another module of this engine; set a different file for each`);
  createFolder(file);
  const unlock = isInside(dataDir, file) ? undefined : lockFolder(dirname(file));
  inUse.add(file);
  return () => {
    inUse.delete(file);
    unlock?.();
  };
}

/** Creates the folder of a file, for the owner only. If it cannot be created, opening the file reports the reason. */
function createFolder(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  } catch (thrown) {
    if (!(thrown instanceof Error && "syscall" in thrown)) throw thrown;
  }
}

/** Returns a function that releases the folder, to be called once. Throws like `lockDataFolder`. */
function lockFolder(folder: string): () => void {
  const held = folderLocks.get(folder) ?? { lock: lockDataFolder(folder), users: 0 };
  held.users += 1;
  folderLocks.set(folder, held);
  return () => {
    held.users -= 1;
    if (held.users > 0) return;
    folderLocks.delete(folder);
    held.lock.release();
  };
}

/**
 * True for files in the data folder. The lock of the data folder protects them; a file elsewhere needs its own lock.
 */
function isInside(folder: string, file: string): boolean {
  const path = relative(folder, dirname(file));
  return path === "" || (!path.startsWith("..") && !isAbsolute(path));
}
