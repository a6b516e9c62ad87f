import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { replaceFile } from "../files/replace-file.ts";

const recordSchema = z.object({
  hash: z.string(),
  runtime: z.string(),
  /** Hash of the archives on this machine from which packages were installed. Absent in records of earlier versions. */
  archives: z.string().optional(),
  environment: z.string(),
  installed_at: z.string(),
});

/** Record of the last install of a worker. */
export type InstallRecord = z.infer<typeof recordSchema>;

interface Place {
  /** Folder of the worker. */
  readonly folder: string;
  /** Folder in the project for files about the worker. */
  readonly stateFolder: string;
}

/**
 * Returns the files that may contain the record, in the order in which they are tried. The first one is in the worker's
 * folder, beside the installed packages, because a container image contains both, while the project's `.svc` may be a
 * volume. The second one is in the project. It is used if the worker's folder cannot be written.
 */
function filesOf({ folder, stateFolder }: Place): readonly [own: string, inProject: string] {
  return [join(folder, ".svc", "installed.json"), join(stateFolder, "installed.json")];
}

/**
 * Returns the record of the last install. Undefined if it is missing or invalid; the worker then counts as not
 * installed.
 */
export async function readInstallRecord(place: Place): Promise<InstallRecord | undefined> {
  for (const file of filesOf(place)) {
    try {
      return recordSchema.parse(JSON.parse(await readFile(file, "utf8")));
    } catch {
      // Continue with the next file.
    }
  }
  return undefined;
}

export async function deleteInstallRecord(place: Place): Promise<void> {
  for (const file of filesOf(place)) await rm(file, { force: true });
}

export async function writeInstallRecord(place: Place, record: InstallRecord): Promise<void> {
  const [own, inProject] = filesOf(place);
  const text = `${JSON.stringify(record, null, 2)}\n`;
  try {
    await mkdir(dirname(own), { recursive: true });
    // The file is readable for all users, because another user may run the worker than the one who installed it, e.g.
    // in an image.
    await replaceFile(own, text, { mode: 0o644 });
  } catch {
    // The worker's folder cannot be written, e.g. because it is read-only.
    await replaceFile(inProject, text);
  }
}
