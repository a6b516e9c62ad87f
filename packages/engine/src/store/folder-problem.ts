import { accessSync, constants, type Stats, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Why nothing can be written into a folder, as a sentence about it; undefined when nothing is wrong that can be seen from outside. SQLite and the
 * system say little more than that it failed.
 */
export function folderProblem(folder: string): string | undefined {
  const found = statsOf(folder);
  if (found === undefined) return missing(folder);
  if (!found.isDirectory()) return `${folder} is a file where a folder is wanted`;
  return writingProblem(folder);
}

/** What keeps a folder that does not exist from being made; mostly nothing but that nobody did. */
function missing(folder: string): string {
  for (let parent = dirname(folder); ; parent = dirname(parent)) {
    const found = statsOf(parent);
    if (found === undefined && parent !== dirname(parent)) continue;
    if (found !== undefined && !found.isDirectory()) return `${parent} is a file where a folder is wanted`;
    return writingProblem(parent) ?? `the folder ${folder} does not exist`;
  }
}

function writingProblem(folder: string): string | undefined {
  try {
    accessSync(folder, constants.W_OK);
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code;
    if (code === "EROFS") return `${folder} lies on a file system that is mounted read-only`;
    return `this user may not write into ${folder} (${code})`;
  }
  return statfsSync(folder).bavail === 0 ? `no space is left on the disk of ${folder}` : undefined;
}

/** Undefined where it cannot be looked at. */
function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
