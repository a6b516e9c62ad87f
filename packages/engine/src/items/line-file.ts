import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { CallError } from "@svc/protocol";

/** Lines are gathered to writes of this size. */
const WRITE_CHARACTERS = 256 * 1024;

/**
 * Writes lines to a file that is there whole or not at all: under another name first, synced, then renamed. Its folder is made, for this user only.
 * Rejects with `storage_failed` when the file exists or cannot be written.
 */
export async function writeLines(file: string, lines: Iterable<string> | AsyncIterable<string>): Promise<{ readonly bytes: number }> {
  const draft = `${file}.part`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    if ((await stat(file).catch(() => undefined)) !== undefined) throw new Error("it exists already");
    const bytes = await writeDraft(draft, lines);
    await rename(draft, file);
    await syncFolder(dirname(file));
    return { bytes };
  } catch (cause) {
    await rm(draft, { force: true }).catch(() => {});
    if (CallError.is(cause)) throw cause;
    const reason = `the snapshot ${file} could not be written: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new CallError("storage_failed", reason, { details: { reason, file }, cause });
  }
}

async function writeDraft(draft: string, lines: Iterable<string> | AsyncIterable<string>): Promise<number> {
  const handle = await open(draft, "w", 0o600);
  try {
    let bytes = 0;
    let gathered: string[] = [];
    let characters = 0;
    const flush = async (): Promise<void> => {
      const chunk = Buffer.from(gathered.join(""));
      gathered = [];
      characters = 0;
      await handle.writeFile(chunk);
      bytes += chunk.length;
    };
    for await (const line of lines) {
      gathered.push(line, "\n");
      characters += line.length + 1;
      if (characters >= WRITE_CHARACTERS) await flush();
    }
    await flush();
    await handle.sync();
    return bytes;
  } finally {
    await handle.close();
  }
}

/** A renamed file is there after a power cut only once its folder is on the disk. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
