import { randomUUID } from "node:crypto";
import { readdir, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface DiskProbe {
  /** Bytes that the engine's user may still write. */
  readonly freeBytes: number;
  /** Size of the disk in bytes; 0 if the file system does not report it. */
  readonly totalBytes: number;
  /** Why a write into the folder failed; undefined if it succeeded. */
  readonly writeProblem: string | undefined;
}

/** Probes the disk of a folder. Rejects if the file system statistics cannot be read. */
export type ProbeDisk = (folder: string) => Promise<DiskProbe>;

/** Reads the file system statistics, then writes a small file and removes it. */
export const probeDisk: ProbeDisk = async (folder) => {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize, writeProblem: await writeProblem(folder) };
};

/** File names that `writeProblem` uses. */
const PROBE_FILE = /^health-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.probe$/;

/**
 * Removes probe files that a killed engine left behind. Never rejects, because the next probe reports problems of the
 * disk.
 */
export async function removeStaleProbes(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  await Promise.all(
    names
      .filter((name) => PROBE_FILE.test(name))
      .map((name) => rm(join(folder, name), { force: true }).catch(() => {})),
  );
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
