import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { type FileHandle, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Permissions of files that hold data of the engine: for its user only. */
const PRIVATE_FILE = 0o600;

export interface ReplaceOptions {
  /** Permissions of the new file. Default 0o600. */
  readonly mode?: number;
  /**
   * Path of a file whose permissions and owner are copied. The owner is copied only if the process may do so. Has no
   * effect if the file does not exist.
   */
  readonly like?: string;
}

/**
 * Replaces a file atomically. After a crash it has either the old or the new content. After the promise resolves, the
 * new content survives a power cut. The folder must exist. On failure, rejects with the file system's error and leaves
 * no temporary file.
 */
export function replaceFile(
  file: string,
  content: string | Iterable<string>,
  { mode = PRIVATE_FILE, like }: ReplaceOptions = {},
): Promise<void> {
  return putInPlace(file, async (draft) => {
    const owner = like === undefined ? undefined : await ownerOf(like);
    await writeFile(draft, content, { mode, flag: "wx" });
    if (owner !== undefined) await giveTo(draft, owner);
  });
}

/**
 * Creates a file atomically. `write` writes a temporary file. Resolves with the size in bytes. Rejects if the file
 * exists, and for the reasons for which `replaceFile` rejects.
 */
export async function createFile(
  file: string,
  write: (draft: string) => Promise<void>,
): Promise<{ readonly bytes: number }> {
  let bytes = 0;
  await putInPlace(file, async (draft) => {
    if ((await ownerOf(file)) !== undefined) throw new Error("file already exists");
    await write(draft);
    const handle = await open(draft, "r+");
    try {
      await handle.chmod(PRIVATE_FILE);
      bytes = (await handle.stat()).size;
    } finally {
      await handle.close();
    }
  });
  return { bytes };
}

/** Synchronous version of `replaceFile`. Only this user can access the new file. */
export function replaceFileSync(file: string, text: string): void {
  const draft = draftOf(file);
  try {
    writeFileSync(draft, text, { mode: PRIVATE_FILE, flag: "wx", flush: true });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  if (process.platform === "win32") return;
  const folder = openSync(dirname(file), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

async function putInPlace(file: string, write: (draft: string) => Promise<void>): Promise<void> {
  const draft = draftOf(file);
  try {
    await write(draft);
    // Sync before the rename. Otherwise the new name could reach the disk before the content.
    await sync(draft, "r+");
    await rename(draft, file);
  } catch (error) {
    // An error of the removal is ignored, because the first error is the one to report.
    await rm(draft, { force: true }).catch(() => {});
    throw error;
  }
  // A rename survives a power cut only after its folder is synced. Windows cannot open folders and syncs renames
  // itself.
  if (process.platform !== "win32") await sync(dirname(file), "r");
}

/** Returns a hidden name, so that programs that watch for certain files ignore the temporary file. */
function draftOf(file: string): string {
  return join(dirname(file), `.${basename(file)}.${randomUUID()}.tmp`);
}

/** Matches temporary files, and the journal that SQLite writes beside a copy of a database. */
const DRAFT = /^\.(.+)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp(?:-journal)?$/;

/**
 * Removes temporary files of killed processes. Must not run while another process replaces a file in the folder.
 * `isOurs` gets the name of the file that was to be replaced. Default: the temporary files of all files of the folder
 * are removed.
 */
export function removeDrafts(folder: string, isOurs: (name: string) => boolean = () => true): void {
  for (const name of readdirSync(folder)) {
    const replaced = DRAFT.exec(name)?.[1];
    if (replaced !== undefined && isOurs(replaced)) rmSync(join(folder, name), { force: true });
  }
}

async function sync(path: string, flags: "r" | "r+"): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

interface Owner {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

async function ownerOf(file: string): Promise<Owner | undefined> {
  try {
    const { mode, uid, gid } = await stat(file);
    return { mode: mode & 0o7777, uid, gid };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function giveTo(path: string, owner: Owner): Promise<void> {
  const handle: FileHandle = await open(path, "r+");
  try {
    const own = await handle.stat();
    if (own.uid !== owner.uid || own.gid !== owner.gid) {
      // Only root may change the owner. For other users, the new file belongs to the current user.
      await handle.chown(owner.uid, owner.gid).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EPERM") throw error;
      });
    }
    await handle.chmod(owner.mode);
  } finally {
    await handle.close();
  }
}
