import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, posix, relative, resolve, sep } from "node:path";
import { removeDrafts, replaceFile } from "../../files/replace-file.ts";
import { lockFile } from "../../store/file-lock.ts";
import { kindOf } from "../../yaml/schema-problems.ts";
import { readYaml } from "../../yaml/source.ts";
import { literalText } from "../../yaml/variables.ts";
import { canonicalModuleName, moduleNameOfClass } from "../compatibility-names.ts";
import { memberOf } from "../engine-settings.ts";
import { type LoadOptions, readConfigText } from "../load.ts";
import { ConfigError } from "../types.ts";
import { ConfigEditError } from "./edit-error.ts";
import { entryLists, withEntry, withoutEntries } from "./list-edit.ts";
import { refuseNewProblems } from "./refuse-new-problems.ts";

/** An entry that names a module, e.g. `{ name: "svc-http", config: { port: 3111 } }`. */
export interface NewModuleEntry {
  readonly name: string;
  readonly config?: Readonly<Record<string, unknown>> | undefined;
  readonly path?: undefined;
}

/** An entry for a local worker. */
export interface NewLocalWorkerEntry {
  readonly name: string;
  /** Folder of the worker, absolute or relative to the config file. The edit writes it relative to the file. */
  readonly path: string;
  readonly replicas?: number | undefined;
  readonly watch?: boolean | undefined;
  /** Literal values: a `${NAME}` in a value is escaped. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export type NewEntry = NewModuleEntry | NewLocalWorkerEntry;

export interface EditResult {
  /** False if the file already had the wanted content. The file is then not written. */
  readonly changed: boolean;
}

export interface EditOptions {
  /**
   * Options with which the engine reads the file. If set, an edit that adds a problem rejects with `would_be_refused`.
   */
  readonly check?: LoadOptions;
}

/**
 * Adds an entry at the end of `workers:`. Creates the file if it is missing. Comments, order and layout of the rest
 * stay. Does nothing if the entry exists already (a module by any of its names, or a local worker with the same name
 * and path). Keeps the old content as `<file>.bak`. Rejects with ConfigError if the file is not valid YAML, and with
 * ConfigEditError for all other problems.
 */
export async function addWorkerToConfig(
  file: string,
  entry: NewEntry,
  options: EditOptions & { readonly comment?: string } = {},
): Promise<EditResult> {
  const written = entryFor(file, entry);
  const change = (text: string): string | undefined => {
    if (isListed(file, text, entry)) return undefined;
    return (
      withEntry(text, written, { comment: options.comment }) ??
      refuseLayout(file, `add these lines by hand: ${JSON.stringify(written)}`)
    );
  };
  return await editConfigText(file, change, options);
}

/**
 * Removes the entry of a local worker, or all entries of a module by any of its names. Apart from that it works like
 * `addWorkerToConfig`.
 */
export async function removeWorkerFromConfig(
  file: string,
  name: string,
  options: EditOptions = {},
): Promise<EditResult> {
  const matches = (entry: unknown): boolean => isNamed(entry, name);
  const change = (text: string): string | undefined => {
    if (!entryLists(text).some((list) => list.entries.some(matches))) return undefined;
    return withoutEntries(text, matches) ?? refuseLayout(file, `remove the entry ${JSON.stringify(name)} by hand`);
  };
  return await editConfigText(file, change, options);
}

/** Timeout for the edit lock, in milliseconds. An edit takes a few milliseconds. */
const LOCK_WAIT_MS = 5_000;
/** Maximum number of attempts if another program saves the file during an edit. */
const MAX_ATTEMPTS = 5;

/**
 * Changes the file's content while holding the lock. Results and errors are those of `addWorkerToConfig`. `change`
 * returns the new content, or undefined if nothing has to change; it may be called more than once.
 */
export async function editConfigText(
  named: string,
  change: (text: string) => string | undefined,
  { check }: EditOptions = {},
): Promise<EditResult> {
  const file = await linkTarget(resolve(named));
  return await withEditLock(file, async () => {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const previous = textOf(file);
      refuseInvalid(file, previous ?? "");
      const text = change(previous ?? "");
      if (text === undefined) return { changed: false };
      // Use the given path, not the target of a link: folders in the file are relative to the path that the engine
      // loads.
      if (check !== undefined) refuseNewProblems({ file: resolve(named), before: previous ?? "", after: text }, check);
      // Editors do not take the lock. If one has saved the file meanwhile, its content must not be overwritten.
      if (textOf(file) !== previous) continue;
      await write(file, { text, previous });
      return { changed: true };
    }
    throw new ConfigEditError(
      "changed_meanwhile",
      `${file} was saved ${MAX_ATTEMPTS} times while it was being edited; try again`,
    );
  });
}

/** Returns the path of a config file's edit lock, in the `.svc` folder beside the file. */
export function lockFileOf(file: string): string {
  return join(dirname(file), ".svc", `${basename(file)}.lock`);
}

/**
 * Runs `work` while holding the file's edit lock. Rejects with ConfigEditError `locked` after `waitMs`, or
 * `not_written` if the lock cannot be created.
 */
export async function withEditLock<T>(file: string, work: () => Promise<T>, waitMs = LOCK_WAIT_MS): Promise<T> {
  const path = lockFileOf(file);
  const signal = AbortSignal.timeout(waitMs);
  const lock = await lockFile(path, { signal }).catch((error: Error) => {
    if (signal.aborted)
      throw new ConfigEditError("locked", `another process has been editing ${file} for ${waitMs / 1000} s; try again`);
    throw new ConfigEditError(
      "not_written",
      `cannot lock ${path}, which each edit needs: ${error.message}; check its owner`,
      { cause: error },
    );
  });
  try {
    removeDrafts(dirname(file), (name) => name === basename(file) || name === `${basename(file)}.bak`);
    return await work();
  } finally {
    lock.release();
  }
}

/** Resolves a symbolic link, so that an edit replaces its target and not the link. */
async function linkTarget(file: string): Promise<string> {
  return existsSync(file) ? await realpath(file) : file;
}

function textOf(file: string): string | undefined {
  return existsSync(file) ? readConfigText(file) : undefined;
}

/** Keeps the previous content as `<file>.bak`. */
async function write(
  file: string,
  { text, previous }: { readonly text: string; readonly previous: string | undefined },
): Promise<void> {
  try {
    const options = { mode: 0o644, like: file };
    if (previous !== undefined) await replaceFile(`${file}.bak`, previous, options);
    await replaceFile(file, text, options);
  } catch (error) {
    throw new ConfigEditError(
      "not_written",
      `${file} could not be written and is unchanged: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    );
  }
}

/**
 * Throws ConfigError if the text is not a valid config file. Variables are not checked here, because the loader does
 * it.
 */
function refuseInvalid(file: string, text: string): void {
  const { source, problems } = readYaml(text, () => "");
  if (source === undefined || problems.length > 0) throw new ConfigError(file, problems);
  const top = source.value ?? {};
  const refuse = (key: string | undefined, message: string): ConfigError =>
    new ConfigError(file, [
      { line: undefined, column: undefined, ...source.positionOf(key === undefined ? [] : [key]), key, message },
    ]);
  if (typeof top !== "object" || Array.isArray(top))
    throw refuse(undefined, `the file must be a block of keys, got ${kindOf(top)}`);
  for (const key of ["workers", "modules"]) {
    const list = Object.hasOwn(top, key) ? (top as Record<string, unknown>)[key] : null;
    if (list !== null && !Array.isArray(list)) throw refuse(key, `must be a list of entries, got ${kindOf(list)}`);
  }
}

function isListed(file: string, text: string, entry: NewEntry): boolean {
  const entries = entryLists(text).flatMap((list) => list.entries);
  const { path } = entry;
  if (path === undefined) {
    const local = entries.find((other) => stringAt(other, "name") === entry.name && pathIn(other) !== undefined);
    if (local)
      throw new ConfigEditError(
        "name_taken",
        `${file} already lists a local worker named ${entry.name}; rename it first`,
      );
    return entries.some((other) => isNamed(other, entry.name));
  }
  const folder = resolve(dirname(resolve(file)), path);
  const folderOf = (other: unknown): string | undefined => {
    const written = pathIn(other);
    return written === undefined ? undefined : resolve(dirname(resolve(file)), written);
  };
  const twin = entries.find((other) => stringAt(other, "name") === entry.name);
  if (twin !== undefined && folderOf(twin) === folder) return true;
  if (twin !== undefined)
    throw new ConfigEditError(
      "name_taken",
      `${file} already lists ${entry.name}, as ${pathIn(twin) ?? "a module"}; remove that entry first or give the worker another name`,
    );
  const sharer = entries.find((other) => folderOf(other) === folder);
  if (sharer !== undefined)
    throw new ConfigEditError(
      "path_taken",
      `${file} already lists the folder ${path}, as ${stringAt(sharer, "name")}; for more processes write \`replicas: 2\` there`,
    );
  return false;
}

/**
 * True if the entry is a local worker with this name, or a module that has this name, another of its names or an older
 * class.
 */
function isNamed(entry: unknown, name: string): boolean {
  const written = stringAt(entry, "name") ?? moduleNameOfClass(stringAt(entry, "class") ?? "");
  if (written === undefined) return false;
  if (written === name) return true;
  return (
    pathIn(entry) === undefined &&
    canonicalModuleName(written) !== undefined &&
    canonicalModuleName(written) === canonicalModuleName(name)
  );
}

function pathIn(entry: unknown): string | undefined {
  return stringAt(entry, "path") ?? stringAt(entry, "worker_path");
}

function stringAt(entry: unknown, key: string): string | undefined {
  const value = memberOf(entry, key);
  return typeof value === "string" ? value : undefined;
}

/** Returns the entry as it is written to the file, without undefined members. */
function entryFor(file: string, entry: NewEntry): Record<string, unknown> {
  const { path, ...rest } = entry;
  const { name, ...others } = rest;
  const env = "env" in others && others.env !== undefined ? { env: literalTexts(others.env) } : {};
  const written = { name, ...(path === undefined ? {} : { path: pathBesideFile(file, path) }), ...others, ...env };
  return Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined));
}

function literalTexts(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, literalText(text)]));
}

/** Returns e.g. `./workers/math`, with forward slashes on every system. A folder on another drive stays absolute. */
function pathBesideFile(file: string, path: string): string {
  const fromFile = isAbsolute(path) ? relative(dirname(resolve(file)), path) : path;
  if (isAbsolute(fromFile)) return fromFile;
  const forward = posix.normalize(fromFile.split(sep).join("/"));
  if (forward === "." || forward === "..") return forward;
  return forward.startsWith("../") ? forward : `./${forward}`;
}

function refuseLayout(file: string, advice: string): never {
  throw new ConfigEditError(
    "unsupported_layout",
    `${basename(file)} has a layout that cannot be edited safely; ${advice}`,
  );
}
