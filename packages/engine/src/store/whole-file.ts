import { randomUUID } from "node:crypto";
import { chmod, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { CallError } from "@svc/protocol";

/**
 * Makes a file that is there whole or not at all: `write` fills another name, which is synced and renamed. Its folder is made; both are for this user
 * only. Rejects with `storage_failed` when the file exists or cannot be written; nothing is left behind then.
 */
export async function writeWhole(file: string, write: (draft: string) => Promise<void>): Promise<{ readonly bytes: number }> {
  const draft = `${file}.${randomUUID()}.part`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    if (await exists(file)) throw new Error("it exists already");
    await write(draft);
    await chmod(draft, 0o600);
    const { size } = await stat(draft);
    await sync(draft, "r+");
    await rename(draft, file);
    // A renamed file is there after a power cut only once its folder is on the disk.
    await sync(dirname(file), "r");
    return { bytes: size };
  } catch (cause) {
    // The failure that led here is the one to tell.
    await rm(draft, { force: true }).catch(() => {});
    if (CallError.is(cause)) throw cause;
    const reason = `${file} could not be written: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new CallError("storage_failed", reason, { details: { reason, file }, cause });
  }
}

async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
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
