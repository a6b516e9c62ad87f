import { constants } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { shownPath } from "../project/config-check.ts";
import { formatBytes } from "../terminal/format-bytes.ts";
import type { Check, Finding } from "./finding.ts";

const MIB = 1_048_576;
const WARNING_BYTES = 1024 * MIB;
const PROBLEM_BYTES = 100 * MIB;

/** Checks that the data folder is writable or can be created, and that its disk has free space. */
export const dataFolder: Check = async ({ shell, report }) => {
  const folder = report.config?.engine.dataDir;
  if (folder === undefined) return [];
  const existing = await nearestExisting(folder);
  const shown = shownPath(shell, folder);
  const writable = await isWritableFolder(existing);
  const finding: Finding = writable
    ? {
        check: "data folder",
        status: "ok",
        message: `${shown} ${existing === folder ? "is writable" : "can be created"}`,
      }
    : {
        check: "data folder",
        status: "problem",
        message: `${existing} is not writable`,
        remedy: "Give this user write permission, or set engine.data_dir to another folder",
      };
  return [finding, spaceFinding(existing, await freeBytes(existing))];
};

async function isWritableFolder(folder: string): Promise<boolean> {
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return (await stat(folder)).isDirectory();
  } catch {
    return false;
  }
}

/** Returns the finding about the free disk space of a folder. `free` is in bytes. */
export function spaceFinding(folder: string, free: number): Finding {
  const message = `${formatBytes(free)} free for ${folder}`;
  if (free >= WARNING_BYTES) return { check: "disk", status: "ok", message };
  const remedy = "Free space on that disk, or set engine.data_dir to a folder on another disk";
  return { check: "disk", status: free < PROBLEM_BYTES ? "problem" : "warning", message, remedy };
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Returns the folder, or its nearest parent that exists. */
async function nearestExisting(folder: string): Promise<string> {
  for (let at = folder; ; at = dirname(at)) {
    const exists = await access(at).then(
      () => true,
      () => false,
    );
    if (exists || dirname(at) === at) return at;
  }
}
