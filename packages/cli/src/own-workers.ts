import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { quoteWord } from "@svc/protocol";

/** As many as stand on one line. */
const MAX_NAMED = 3;

/**
 * The command that adds the workers which lie in the project, in its folder or in `workers/`, to a config file that lists none; with FOLDER
 * where none lies there.
 */
export function addOwnWorkers(cwd: string, configFile: string): string {
  const project = dirname(configFile);
  const folders = [...foldersIn(join(project, "workers")), ...foldersIn(project)].filter((folder) => existsSync(join(folder, "svc.worker.yaml")));
  const shown = folders.slice(0, MAX_NAMED).map((folder) => quoteWord(fromHere(cwd, folder)));
  return `svc worker add ${shown.length === 0 ? "FOLDER" : shown.join(" ")}`;
}

function fromHere(cwd: string, folder: string): string {
  const path = relative(cwd, folder);
  return path.startsWith(`..${sep}`) ? path : `./${path}`;
}

/** None for a folder that is not there or not ours to read: this is only for an example. */
function foldersIn(folder: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory() && !entry.name.startsWith("."));
    return entries.map(({ name }) => join(folder, name)).toSorted();
  } catch {
    return [];
  }
}
