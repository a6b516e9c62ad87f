import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { replaceFile } from "../files/replace-file.ts";

const recordSchema = z.object({
  hash: z.string(),
  runtime: z.string(),
  /** Hash of the archives on this machine that were installed from. Absent in records of earlier versions. */
  archives: z.string().optional(),
  environment: z.string(),
  installed_at: z.string(),
});

/** Record of the last install of a worker. */
export type InstallRecord = z.infer<typeof recordSchema>;

interface Place {
  /** Folder of the worker. */
  readonly folder: string;
  /** Folder for files about the worker in its project. */
  readonly stateFolder: string;
}

/**
 * Returns the files that may hold the record. It is beside what was installed, because both are part of a container
 * image, while the project's `.svc` is a volume. If the worker's folder cannot be written, it is in the project.
 */
function filesOf({ folder, stateFolder }: Place): readonly [own: string, inProject: string] {
  return [join(folder, ".svc", "installed.json"), join(stateFolder, "installed.json")];
}

/** Returns the record of the last install. Undefined if it is missing or invalid: treat the worker as not installed. */
export async function readInstallRecord(place: Place): Promise<InstallRecord | undefined> {
  for (const file of filesOf(place)) {
    try {
      return recordSchema.parse(JSON.parse(await readFile(file, "utf8")));
    } catch {
      // Try the next place.
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
    // Another user may run what one user installed, e.g. in an image.
    await replaceFile(own, text, { mode: 0o644 });
  } catch {
    // E.g. a read-only folder.
    await replaceFile(inProject, text);
  }
}
