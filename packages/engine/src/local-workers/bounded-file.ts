import { readFile, stat } from "node:fs/promises";

/** Maximum size of a `package.json`, in bytes. */
export const MAX_PACKAGE_FILE_BYTES = 4 * 1024 * 1024;
/** Maximum size of a lock file or requirements file, in bytes. */
export const MAX_LOCK_FILE_BYTES = 64 * 1024 * 1024;

/**
 * Reads a regular file of at most `maxBytes` as text. Rejects for all others, because a link in a worker's folder may
 * lead to a pipe or a device, and reading that may never end.
 */
export async function readBoundedFile(path: string, maxBytes: number): Promise<string> {
  const found = await stat(path);
  if (!found.isFile()) throw new Error("it is not a regular file");
  if (found.size > maxBytes) throw new Error(`it has ${found.size} bytes; at most ${maxBytes} are read`);
  return readFile(path, "utf8");
}
