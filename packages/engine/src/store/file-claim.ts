import { existsSync, statSync } from "node:fs";
import { dirname, isAbsolute, relative } from "node:path";
import { type DataFolderLock, lockDataFolder } from "./data-folder.ts";

/** Files in use by this process. Two modules on one file would list each other's data, and read what the other has changed since. */
const inUse = new Set<string>();

/** Locks that this process holds on folders outside of its data folder, which may hold the files of several modules. */
const folderLocks = new Map<string, { readonly lock: DataFolderLock; users: number }>();

/**
 * Takes a database file, which the setting `file_path` named, for one module of this engine. Answers what gives it back, to be called once.
 * Throws an Error that says why it cannot be had; `what` is kept in it, e.g. `items`.
 */
export function claimFile(file: string, { dataDir, what }: { readonly dataDir: string; readonly what: string }): () => void {
  if (existsSync(file) && statSync(file).isDirectory()) {
    throw new Error(`file_path ${file} is a folder, and the ${what} are kept in one file; name a file that does not exist yet, e.g. ${file}/${what}.db`);
  }
  if (inUse.has(file)) throw new Error(`file_path ${file} is in use by another module of this engine; give each a file of its own`);
  const unlock = isInside(dataDir, file) ? undefined : lockFolder(dirname(file));
  inUse.add(file);
  return () => {
    inUse.delete(file);
    unlock?.();
  };
}

/** Answers what gives the folder back, to be called once. Throws as `lockDataFolder` does. */
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

/** The data folder's lock keeps other engines off; a file elsewhere needs a lock of its own. */
function isInside(folder: string, file: string): boolean {
  const path = relative(folder, dirname(file));
  return path === "" || (!path.startsWith("..") && !isAbsolute(path));
}
