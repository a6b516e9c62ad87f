import { accessSync, constants, type Stats, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Returns a user message that says why a folder cannot be written to, or undefined if no reason is found. The message
 * is more precise than the errors of SQLite and of the operating system.
 */
export function folderProblem(folder: string): string | undefined {
  const found = statsOf(folder);
  if (found === undefined) return missing(folder);
  if (!found.isDirectory()) return `${folder} is a file, not a folder`;
  return writingProblem(folder);
}

/** Returns the reason why a missing folder cannot be created, or says that it does not exist. */
function missing(folder: string): string {
  for (let parent = dirname(folder); ; parent = dirname(parent)) {
    const found = statsOf(parent);
    if (found === undefined && parent !== dirname(parent)) continue;
    if (found !== undefined && !found.isDirectory()) return `${parent} is a file, not a folder`;
    return writingProblem(parent) ?? `the folder ${folder} does not exist`;
  }
}

function writingProblem(folder: string): string | undefined {
  try {
    accessSync(folder, constants.W_OK);
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code;
    if (code === "EROFS") return `${folder} is on a read-only file system`;
    return `this user has no permission to write to ${folder} (${code})`;
  }
  return statfsSync(folder).bavail === 0 ? `no space is left on the disk of ${folder}` : undefined;
}

/** Returns undefined if the path cannot be accessed. */
function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
