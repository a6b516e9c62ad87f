import { randomUUID } from "node:crypto";
import { chmod, mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CallError } from "@svc/protocol";

/**
 * Makes a file that is there whole or not at all: `write` fills another name, which is synced and renamed. Its folder is made; both are for this user
 * only. Rejects with `storage_failed` when the file exists or cannot be written; nothing is left behind then.
 */
export function writeWhole(file: string, write: (draft: string) => Promise<void>): Promise<{ readonly bytes: number }> {
  return make(file, write, { replace: false });
}

/** Puts a text, or its pieces, in place of whatever a file held: after a crash it holds the one or the other. Otherwise as `writeWhole`. */
export function replaceWhole(file: string, text: string | Iterable<string>): Promise<{ readonly bytes: number }> {
  return make(file, (draft) => writeFile(draft, text, { mode: 0o600 }), { replace: true });
}

async function make(file: string, write: (draft: string) => Promise<void>, { replace }: { readonly replace: boolean }): Promise<{ readonly bytes: number }> {
  const draft = `${file}.${randomUUID()}.part`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    if (!replace && (await exists(file))) throw new Error("it exists already");
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
