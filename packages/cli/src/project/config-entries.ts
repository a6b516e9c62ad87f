import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isMap, isScalar, isSeq, parseDocument, type YAMLMap } from "yaml";

const DEFAULT_DATA_DIR = ".svc/data";

/** One entry of the config file. */
export interface ListedEntry {
  readonly name: string;
  /** `command` is a command of an svc-exec block. Such a command has no entry of its own. */
  readonly kind: "local" | "module" | "command";
  /** Absolute path of a local worker's folder; undefined for others. */
  readonly folder: string | undefined;
  /** Names of the entries that must be ready before this one. */
  readonly dependsOn: readonly string[];
}

/**
 * Returns the entries under `workers:` and `modules:` and the commands of svc-exec, by name. Empty if the file is
 * missing or malformed. No error is reported here, because the code that edits the file next reports it.
 */
export function listedEntries(configFile: string): ReadonlyMap<string, ListedEntry> {
  const document = parseDocument(readIfThere(configFile));
  const entries = new Map<string, ListedEntry>();
  for (const key of ["workers", "modules"]) {
    const list = document.get(key);
    if (!isSeq(list)) continue;
    for (const entry of list.items) {
      if (!isMap(entry)) continue;
      for (const listed of [entryOf(entry, configFile), ...commandsOf(entry)])
        if (listed !== undefined) entries.set(listed.name, listed);
    }
  }
  return entries;
}

function entryOf(entry: YAMLMap, configFile: string): ListedEntry | undefined {
  const name = entry.get("name");
  if (typeof name !== "string") return undefined;
  const path = entry.get("path") ?? entry.get("worker_path");
  const folder = typeof path === "string" ? resolve(dirname(configFile), path) : undefined;
  return { name, kind: folder === undefined ? "module" : "local", folder, dependsOn: dependsOnOf(entry) };
}

function commandsOf(entry: YAMLMap): ListedEntry[] {
  const commands = entry.getIn(["config", "commands"]);
  if (entry.has("path") || !isSeq(commands)) return [];
  return commands.items.flatMap((command): ListedEntry[] => {
    const name = isMap(command) ? command.get("name") : undefined;
    return isMap(command) && typeof name === "string"
      ? [{ name, kind: "command", folder: undefined, dependsOn: dependsOnOf(command) }]
      : [];
  });
}

function dependsOnOf(entry: YAMLMap): readonly string[] {
  const names = entry.get("depends_on");
  return isSeq(names)
    ? names.items.flatMap((name) => (isScalar(name) && typeof name.value === "string" ? [name.value] : []))
    : [];
}

/**
 * Returns the port of the workers' listener, with variables replaced. Returns undefined if the file has no valid port.
 */
export function listedBridgePort(
  configFile: string,
  env: Readonly<Record<string, string | undefined>>,
): number | undefined {
  const written = parseDocument(readIfThere(configFile)).getIn(["engine", "bridge", "port"]);
  const variable = wholeVariable(written, env);
  const port = variable === undefined ? written : Number(variable);
  return typeof port === "number" && Number.isInteger(port) && port > 0 && port <= 65_535 ? port : undefined;
}

/** Returns the absolute path of the data folder. If the file does not set it, returns the default. */
export function listedDataDir(configFile: string, env: Readonly<Record<string, string | undefined>>): string {
  const written = parseDocument(readIfThere(configFile)).getIn(["engine", "data_dir"]);
  const path = wholeVariable(written, env) ?? written;
  return resolve(dirname(configFile), typeof path === "string" && path !== "" ? path : DEFAULT_DATA_DIR);
}

/**
 * Returns the value of a text that consists of exactly one variable, e.g. `${PORT:4000}`. Returns undefined for others.
 */
function wholeVariable(written: unknown, env: Readonly<Record<string, string | undefined>>): string | undefined {
  const variable = typeof written === "string" ? /^\$\{([A-Za-z_]\w*)(?::([^}]*))?\}$/.exec(written) : null;
  return variable === null ? undefined : (env[variable[1] ?? ""] ?? variable[2] ?? "");
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
