import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { quoteWord } from "@svc-runtime/protocol";

/** Maximum folders, so that they fit on one line. */
const MAX_NAMED = 3;

/**
 * Returns the command that adds the workers in the project's folder or in `workers/`, for a config file without
 * workers. Uses the placeholder FOLDER if there are none.
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

/** Returns nothing for a missing or unreadable folder, because this is only an example. */
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
