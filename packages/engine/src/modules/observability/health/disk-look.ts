import { randomUUID } from "node:crypto";
import { readdir, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** What can be seen of the disk that a folder lies on. */
export interface DiskLook {
  /** For this user, in bytes. */
  readonly freeBytes: number;
  /** 0 where the file system does not say. */
  readonly totalBytes: number;
  /** Why nothing can be written into the folder; undefined when it can. */
  readonly writeProblem: string | undefined;
}

/** Rejects when the folder cannot be looked at. */
export type LookAtDisk = (folder: string) => Promise<DiskLook>;

/** Asks the file system, and writes a small file that it removes at once. */
export const lookAtDisk: LookAtDisk = async (folder) => {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize, writeProblem: await writeProblem(folder) };
};

/** As `writeProblem` names them. */
const PROBE = /^health-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.probe$/;

/** Removes the files that looks left which the end of their engine cut off. Never rejects: what cannot be removed is the next look's to tell. */
export async function removeLeftProbes(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  await Promise.all(names.filter((name) => PROBE.test(name)).map((name) => rm(join(folder, name), { force: true }).catch(() => {})));
}

async function writeProblem(folder: string): Promise<string | undefined> {
  const file = join(folder, `health-${randomUUID()}.probe`);
  try {
    await writeFile(file, "svc\n", { flag: "wx", mode: 0o600 });
    return undefined;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  } finally {
    await rm(file, { force: true }).catch(() => {});
  }
}
