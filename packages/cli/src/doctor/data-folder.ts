import { constants } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { shownPath } from "../config-check.ts";
import { formatBytes } from "../times.ts";
import type { Check, Finding } from "./finding.ts";

const MIB = 1_048_576;
const LITTLE = 1024 * MIB;
const TOO_LITTLE = 100 * MIB;

/** The data folder can be written, or made, and its disk has room. */
export const dataFolder: Check = async ({ shell, report }) => {
  const folder = report.config?.engine.dataDir;
  if (folder === undefined) return [];
  const there = await nearestThere(folder);
  const shown = shownPath(shell, folder);
  const writable = await canMakeFilesIn(there);
  const finding: Finding = writable
    ? { check: "data folder", status: "ok", message: `${shown} ${there === folder ? "can be written" : "can be made"}` }
    : {
        check: "data folder",
        status: "problem",
        message: `${there} cannot be written`,
        remedy: `Give this user the right to write there, or set engine.data_dir`,
      };
  return [finding, spaceFinding(there, await freeBytes(there))];
};

async function canMakeFilesIn(folder: string): Promise<boolean> {
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return (await stat(folder)).isDirectory();
  } catch {
    return false;
  }
}

/** `free` in bytes. */
export function spaceFinding(folder: string, free: number): Finding {
  const message = `${formatBytes(free)} free for ${folder}`;
  if (free >= LITTLE) return { check: "disk", status: "ok", message };
  const remedy = "Make room on that disk, or set engine.data_dir to a folder on another one";
  return { check: "disk", status: free < TOO_LITTLE ? "problem" : "warning", message, remedy };
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** The folder, or what it will be made in. */
async function nearestThere(folder: string): Promise<string> {
  for (let at = folder; ; at = dirname(at)) {
    const isThere = await access(at).then(
      () => true,
      () => false,
    );
    if (isThere || dirname(at) === at) return at;
  }
}
