import { existsSync, statSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import { type DataFolderLock, lockDataFolder } from "../../store/data-folder.ts";
import { openStore } from "../../store/store.ts";
import type { ItemStore } from "../item-store.ts";
import { FileItems } from "./file-items.ts";
import type { ItemProcedures } from "./file-thread/procedures.ts";

export interface FileItemsOptions {
  /** Absolute path of the data folder; this process holds its lock. */
  readonly dataDir: string;
  /** The database file, relative to the data folder. */
  readonly filePath: string;
  /** Items kept in memory for reading, in bytes. */
  readonly cacheBytes: number;
  /** `relaxed`: a write is answered before it is synced, which follows within a second. Default `durable`. */
  readonly durability?: "durable" | "relaxed";
  readonly log: Logger;
  /** Says what is past its end, and runs deadlines. */
  readonly clock: Clock;
}

/** Files in use by this process. Two modules on one file would list each other's items, and read what the other has changed since. */
const inUse = new Set<string>();

/** Items in a SQLite file. Rejects with an Error that says why the file cannot be used. */
export async function openFileItems(options: FileItemsOptions): Promise<ItemStore> {
  const { dataDir, log, clock, durability = "durable", cacheBytes } = options;
  const file = resolve(dataDir, options.filePath);
  if (existsSync(file) && statSync(file).isDirectory()) {
    throw new Error(`file_path ${file} is a folder, and the items are kept in one file; name a file that does not exist yet, e.g. ${file}/items.db`);
  }
  if (inUse.has(file)) throw new Error(`file_path ${file} is in use by another module of this engine; give each a file of its own`);
  const unlock = isInside(dataDir, file) ? undefined : lockFolder(dirname(file));
  const release = (): void => {
    inUse.delete(file);
    unlock?.();
  };
  inUse.add(file);
  try {
    const procedures = new URL("./file-thread/procedures.ts", import.meta.url);
    const store = await openStore<ItemProcedures>({ file, procedures, durability, log, clock });
    return new FileItems({ file, store, durability, cacheBytes, clock, onClosed: release });
  } catch (error) {
    release();
    throw error;
  }
}

/** Locks that this process holds on folders outside of its data folder, which may hold the files of several modules. */
const folderLocks = new Map<string, { readonly lock: DataFolderLock; users: number }>();

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
