import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { CallError } from "@svc-runtime/protocol";
import { z } from "zod";

/** Folder of snapshots in the data folder. */
const FOLDER = "snapshots";

/** Schema of a file name without folders. It starts with a letter or digit, so it can be neither hidden nor `..`. */
export const snapshotNameSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
    "must be 1 to 100 letters, digits, `.`, `_` or `-`, and start with a letter or digit",
  )
  .meta({
    description:
      "File name in the folder `snapshots` of the data folder. Default: state, the time and an extension, e.g. state-20260131T120000Z.db",
  });

/** Returns the absolute path of a new file, in a folder that exists. Throws `invalid_input` if the file exists. */
export function snapshotFile(options: {
  readonly dataDir: string;
  readonly name: string | undefined;
  readonly nowMs: number;
  readonly ending: string;
}): string {
  const folder = join(options.dataDir, FOLDER);
  const stamp = new Date(options.nowMs).toISOString().replace(/[-:]|[.]\d+/g, "");
  const file = join(folder, options.name ?? `state-${stamp}.${options.ending}`);
  try {
    // Not recursive: if the data folder is being moved, it must not be created again.
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
  } catch (cause) {
    const reason = `cannot create the folder ${folder}: ${(cause as Error).message}`;
    throw new CallError("storage_failed", reason, { cause, details: { reason } });
  }
  if (existsSync(file))
    throw new CallError("invalid_input", `\`name\`: ${file} already exists; choose another name`, {
      details: { file },
    });
  return file;
}
