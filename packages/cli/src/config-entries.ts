import { readFileSync } from "node:fs";
import { isMap, isSeq, parseDocument } from "yaml";

/**
 * Names that the config file lists under `workers:` and `modules:`, as they are written. Empty for a file that is missing or is no such
 * list: whoever edits the file next says what is wrong with it.
 */
export function listedNames(configFile: string): ReadonlySet<string> {
  const document = parseDocument(readIfThere(configFile));
  const names = new Set<string>();
  for (const key of ["workers", "modules"]) {
    const list = document.get(key);
    if (!isSeq(list)) continue;
    for (const entry of list.items) {
      const name = isMap(entry) ? entry.get("name") : undefined;
      if (typeof name === "string") names.add(name);
    }
  }
  return names;
}

/** The port that the file gives the workers' listener, variables replaced; undefined when it gives none that is one. */
export function listedBridgePort(configFile: string, env: Readonly<Record<string, string | undefined>>): number | undefined {
  const written = parseDocument(readIfThere(configFile)).getIn(["engine", "bridge", "port"]);
  const variable = typeof written === "string" ? /^\$\{([A-Za-z_]\w*)(?::([^}]*))?\}$/.exec(written) : null;
  const port = variable === null ? written : Number(env[variable[1] ?? ""] ?? variable[2] ?? "");
  return typeof port === "number" && Number.isInteger(port) && port > 0 && port <= 65_535 ? port : undefined;
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "EISDIR" || code === "EACCES") return "";
    throw error;
  }
}
