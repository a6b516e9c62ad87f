import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { CallError } from "@svc/protocol";
import { z } from "zod";

/** Below the data folder. */
const FOLDER = "snapshots";

/** A file name without folders: it begins with a letter or a digit, so it is neither hidden nor a way up. */
export const snapshotNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, "must be 1 to 100 letters, digits, `.`, `_` or `-`, and begin with a letter or digit")
  .meta({ description: "File name in the folder `snapshots` of the data folder. Default: state, the time and an ending, e.g. state-20260131T120000Z.db" });

/** Absolute path of a file that does not exist, in a folder that does. Throws `invalid_input` when the name is taken. */
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
    // Not recursive: that would make the data folder, too, while it is moved away.
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
  } catch (cause) {
    const reason = `the folder ${folder} cannot be made: ${(cause as Error).message}`;
    throw new CallError("storage_failed", reason, { cause, details: { reason } });
  }
  if (existsSync(file)) throw new CallError("invalid_input", `\`name\`: ${file} exists already; choose another name`, { details: { file } });
  return file;
}
