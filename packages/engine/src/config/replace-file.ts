import { randomUUID } from "node:crypto";
import { type FileHandle, open, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Puts `text` in the place of a file so that a crash at any moment leaves the old or the new content, never half of one.
 * Keeps the file's mode, and its owner where the process may. The content it replaces is kept as `<file>.bak`.
 */
export async function replaceFile(file: string, { text, previous }: { readonly text: string; readonly previous: string | undefined }): Promise<void> {
  const owner = await ownerOf(file);
  if (previous !== undefined) await writeBeside(`${file}.bak`, previous, owner);
  await writeBeside(file, text, owner);
  await syncFolder(dirname(file));
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
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function writeBeside(target: string, text: string, owner: Owner | undefined): Promise<void> {
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}.tmp`);
  try {
    const handle = await open(temporary, "wx", 0o644);
    try {
      await handle.writeFile(text);
      if (owner) await takeOver(handle, owner);
      // Before the rename, else the name could reach the disk before the content.
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await unlink(temporary).catch((failure: unknown) => {
      if (codeOf(failure) !== "ENOENT") throw failure;
    });
    throw error;
  }
}

async function takeOver(handle: FileHandle, owner: Owner): Promise<void> {
  const own = await handle.stat();
  if (own.uid !== owner.uid || own.gid !== owner.gid) {
    // Only root may give files away; for everybody else the new file is theirs.
    await handle.chown(owner.uid, owner.gid).catch((error: unknown) => {
      if (codeOf(error) !== "EPERM") throw error;
    });
  }
  await handle.chmod(owner.mode);
}

async function syncFolder(folder: string): Promise<void> {
  let handle: FileHandle;
  try {
    handle = await open(folder, "r");
  } catch (error) {
    // Windows opens no folders; its rename is on disk by itself.
    if (process.platform === "win32") return;
    throw error;
  }
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
