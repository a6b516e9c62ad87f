import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { quoteWord } from "@svc-runtime/protocol";

/** Maximum number of folders in the command, so that it fits on one line. */
const MAX_NAMED = 3;

/**
 * Returns a command that adds workers, for a config file that has none. It has the workers that are in the project's
 * folder or in `workers/`. If there are none, it has the placeholder FOLDER.
 */
export function workerAddHint(cwd: string, configFile: string): string {
  const project = dirname(configFile);
  const folders = [...foldersIn(join(project, "workers")), ...foldersIn(project)].filter((folder) =>
    existsSync(join(folder, "svc.worker.yaml")),
  );
  const shown = folders.slice(0, MAX_NAMED).map((folder) => quoteWord(fromHere(cwd, folder)));
  return `svc worker add ${shown.length === 0 ? "FOLDER" : shown.join(" ")}`;
}

function fromHere(cwd: string, folder: string): string {
  const path = relative(cwd, folder);
  return path.startsWith(`..${sep}`) ? path : `./${path}`;
}

/**
 * Returns the folders in a folder. Returns none if it is missing or unreadable, because the result is only an example.
 */
function foldersIn(folder: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && !entry.name.startsWith("."),
    );
    return entries.map(({ name }) => join(folder, name)).toSorted();
  } catch {
    return [];
  }
}
