import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { type FileHandle, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Permissions of files that hold data of the engine: for its user only. */
const PRIVATE_FILE = 0o600;

export interface ReplaceOptions {
  /** Permissions of the new file. Default 0o600. */
  readonly mode?: number;
  /** Path of a file whose permissions and, where the process may, owner the new file gets. No effect if there is no such file. */
  readonly like?: string;
}

/**
 * Replaces a file in one step: after a crash at any moment it holds the old or the new content, and after the promise resolves the new one, also after a
 * power cut. The folder must exist. Rejects with the file system's error, and leaves nothing behind then.
 */
export function replaceFile(file: string, content: string | Iterable<string>, { mode = PRIVATE_FILE, like }: ReplaceOptions = {}): Promise<void> {
  return putInPlace(file, async (draft) => {
    const owner = like === undefined ? undefined : await ownerOf(like);
    await writeFile(draft, content, { mode, flag: "wx" });
    if (owner !== undefined) await giveTo(draft, owner);
  });
}

/** Creates a file in one step, which `write` fills at a temporary name. Resolves with its size in bytes. Rejects if the file exists, else as `replaceFile`. */
export async function createFile(file: string, write: (draft: string) => Promise<void>): Promise<{ readonly bytes: number }> {
  let bytes = 0;
  await putInPlace(file, async (draft) => {
    if ((await ownerOf(file)) !== undefined) throw new Error("it exists already");
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

/** As `replaceFile`, for code that must not wait. The file is for this user only. */
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
    // Before the rename: otherwise the name could reach the disk before the content.
    await sync(draft, "r+");
    await rename(draft, file);
  } catch (error) {
    // The first failure is the one to report.
    await rm(draft, { force: true }).catch(() => {});
    throw error;
  }
  // A renamed file is there after a power cut only once its folder is on the disk. Windows opens no folders and writes a rename to the disk by itself.
  if (process.platform !== "win32") await sync(dirname(file), "r");
}

/** Hidden, so that no program that watches for files of a kind picks it up. */
function draftOf(file: string): string {
  return join(dirname(file), `.${basename(file)}.${randomUUID()}.tmp`);
}

const DRAFT = /^\..+\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/;

/**
 * Removes what killed processes left of files that they were replacing. To be called only while nobody else replaces a file there. `isOurs` gets the name of the
 * file that was being replaced; default: every file of the folder.
 */
export function removeDrafts(folder: string, isOurs: (name: string) => boolean = () => true): void {
  const drafts = readdirSync(folder).filter((name) => DRAFT.test(name) && isOurs(name.slice(1, -".".length - 36 - ".tmp".length)));
  for (const name of drafts) rmSync(join(folder, name), { force: true });
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
      // Only root may give files away; for everybody else the new file is theirs.
      await handle.chown(owner.uid, owner.gid).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EPERM") throw error;
      });
    }
    await handle.chmod(owner.mode);
  } finally {
    await handle.close();
  }
}
