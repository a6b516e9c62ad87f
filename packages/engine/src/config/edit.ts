import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, posix, relative, resolve, sep } from "node:path";
import { removeDrafts, replaceFile } from "../files/replace-file.ts";
import { lockFile } from "../store/file-lock.ts";
import { kindOf } from "../yaml/schema-problems.ts";
import { readYaml } from "../yaml/source.ts";
import { literalText } from "../yaml/variables.ts";
import { canonicalModuleName, moduleNameOfClass } from "./compatibility-names.ts";
import { refuseNewProblems } from "./edit-check.ts";
import { ConfigEditError } from "./edit-error.ts";
import { entryLists, withEntry, withoutEntries } from "./list-edit.ts";
import { type LoadOptions, readConfigText } from "./load.ts";
import { ConfigError } from "./types.ts";

/** An entry that names a module, e.g. `{ name: "svc-http", config: { port: 3111 } }`. */
export interface NewModuleEntry {
  readonly name: string;
  readonly config?: Readonly<Record<string, unknown>> | undefined;
  readonly path?: undefined;
}

/** An entry for a worker of the user's own. */
export interface NewLocalWorkerEntry {
  readonly name: string;
  /** The worker's folder: absolute, or relative to the config file. Written relative to the file. */
  readonly path: string;
  readonly replicas?: number | undefined;
  readonly watch?: boolean | undefined;
  /** Values as they are: nothing in them is taken for a variable of the file. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export type NewEntry = NewModuleEntry | NewLocalWorkerEntry;

export interface EditResult {
  /** False: the file said so already and was not touched. */
  readonly changed: boolean;
}

export interface EditOptions {
  /** How the engine reads the file. What it would refuse afterwards, and did not before, is then refused with `would_be_refused`. */
  readonly check?: LoadOptions;
}

/**
 * Adds an entry at the end of `workers:`, creating the file when it is missing. Comments, order and layout of the rest stay.
 * An entry that is there already (a module by any of its names; a local worker with the same name and path) is left as it is.
 * The old content is kept as `<file>.bak`. Rejects with ConfigError when the file is not valid YAML, else with ConfigEditError.
 */
export async function addWorkerToConfig(file: string, entry: NewEntry, options: EditOptions & { readonly comment?: string } = {}): Promise<EditResult> {
  const written = entryFor(file, entry);
  const change = (text: string): string | undefined => {
    if (isListed(file, text, entry)) return undefined;
    return withEntry(text, written, { comment: options.comment }) ?? refuseLayout(file, `add these lines by hand: ${JSON.stringify(written)}`);
  };
  return await editConfigText(file, change, options);
}

/** Removes the entry of a local worker, or all entries of a module by any of its names. Otherwise as `addWorkerToConfig`. */
export async function removeWorkerFromConfig(file: string, name: string, options: EditOptions = {}): Promise<EditResult> {
  const matches = (entry: unknown): boolean => isNamed(entry, name);
  const change = (text: string): string | undefined => {
    if (!entryLists(text).some((list) => list.entries.some(matches))) return undefined;
    return withoutEntries(text, matches) ?? refuseLayout(file, `remove the entry ${JSON.stringify(name)} by hand`);
  };
  return await editConfigText(file, change, options);
}

/** An edit takes milliseconds. */
const LOCK_WAIT_MS = 5_000;
/** How often an edit starts over because somebody saved the file in between. */
const MAX_ATTEMPTS = 5;

/** Changes the file's text under the lock, as `addWorkerToConfig` says. `change` answers the new text, or undefined for none; it may be asked again. */
export async function editConfigText(named: string, change: (text: string) => string | undefined, { check }: EditOptions = {}): Promise<EditResult> {
  const file = await linkTarget(resolve(named));
  return await withEditLock(file, async () => {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const previous = textOf(file);
      refuseInvalid(file, previous ?? "");
      const text = change(previous ?? "");
      if (text === undefined) return { changed: false };
      // By the path that the engine is given, also where it is a link: folders in the file are relative to that.
      if (check !== undefined) refuseNewProblems({ file: resolve(named), before: previous ?? "", after: text }, check);
      // Editors do not know the lock; whoever saved in between must not lose what they wrote.
      if (textOf(file) !== previous) continue;
      await write(file, { text, previous });
      return { changed: true };
    }
    throw new ConfigEditError("changed_meanwhile", `${file} was saved ${MAX_ATTEMPTS} times while it was being edited; try again`);
  });
}

/** The lock of a config file. In the folder beside it where the engine keeps its token. */
export function lockFileOf(file: string): string {
  return join(dirname(file), ".svc", `${basename(file)}.lock`);
}

/** Runs `work` while nobody else edits the file. Rejects with ConfigEditError `locked` after `waitMs`, and with `not_written` if there can be no lock. */
export async function withEditLock<T>(file: string, work: () => Promise<T>, waitMs = LOCK_WAIT_MS): Promise<T> {
  const path = lockFileOf(file);
  const signal = AbortSignal.timeout(waitMs);
  const lock = await lockFile(path, { signal }).catch((error: Error) => {
    if (signal.aborted) throw new ConfigEditError("locked", `another process has been editing ${file} for ${waitMs / 1000} s; try again`);
    throw new ConfigEditError("not_written", `cannot lock ${path}, which each edit needs: ${error.message}; is it another user's?`, { cause: error });
  });
  try {
    removeDrafts(dirname(file), (name) => name === basename(file) || name === `${basename(file)}.bak`);
    return await work();
  } finally {
    lock.release();
  }
}

/** A symbolic link stays one: the file behind it is replaced. */
async function linkTarget(file: string): Promise<string> {
  return existsSync(file) ? await realpath(file) : file;
}

function textOf(file: string): string | undefined {
  return existsSync(file) ? readConfigText(file) : undefined;
}

/** Keeps the content that is replaced as `<file>.bak`. */
async function write(file: string, { text, previous }: { readonly text: string; readonly previous: string | undefined }): Promise<void> {
  try {
    const options = { mode: 0o644, like: file };
    if (previous !== undefined) await replaceFile(`${file}.bak`, previous, options);
    await replaceFile(file, text, options);
  } catch (error) {
    throw new ConfigEditError("not_written", `${file} could not be written and is as it was: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** Variables are of no interest here; the loader speaks about those. */
function refuseInvalid(file: string, text: string): void {
  const { source, problems } = readYaml(text, () => "");
  if (source === undefined || problems.length > 0) throw new ConfigError(file, problems);
  const top = source.value ?? {};
  const refuse = (key: string | undefined, message: string): ConfigError =>
    new ConfigError(file, [{ line: undefined, column: undefined, ...source.positionOf(key === undefined ? [] : [key]), key, message }]);
  if (typeof top !== "object" || Array.isArray(top)) throw refuse(undefined, `the file must be a block of keys, got ${kindOf(top)}`);
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
    if (local) throw new ConfigEditError("name_taken", `${file} lists a local worker called ${entry.name}; rename it first`);
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
      `${file} lists ${entry.name} already, as ${pathIn(twin) ?? "a module"}; remove that entry first or give the worker another name`,
    );
  const sharer = entries.find((other) => folderOf(other) === folder);
  if (sharer !== undefined)
    throw new ConfigEditError(
      "path_taken",
      `${file} lists the folder ${path} already, as ${stringAt(sharer, "name")}; for more processes write \`replicas: 2\` there`,
    );
  return false;
}

/** Local workers by their own name; modules by any name or older class that means the same. */
function isNamed(entry: unknown, name: string): boolean {
  const written = stringAt(entry, "name") ?? moduleNameOfClass(stringAt(entry, "class") ?? "");
  if (written === undefined) return false;
  if (written === name) return true;
  return pathIn(entry) === undefined && canonicalModuleName(written) !== undefined && canonicalModuleName(written) === canonicalModuleName(name);
}

function pathIn(entry: unknown): string | undefined {
  return stringAt(entry, "path") ?? stringAt(entry, "worker_path");
}

function stringAt(entry: unknown, key: string): string | undefined {
  if (typeof entry !== "object" || entry === null || !Object.hasOwn(entry, key)) return undefined;
  const value = (entry as Record<string, unknown>)[key];
  return typeof value === "string" ? value : undefined;
}

/** The entry as it is written, without what is undefined. */
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

/** `./workers/math`, with forward slashes on every system; another drive's folder stays absolute. */
function pathBesideFile(file: string, path: string): string {
  const fromFile = isAbsolute(path) ? relative(dirname(resolve(file)), path) : path;
  if (isAbsolute(fromFile)) return fromFile;
  const forward = posix.normalize(fromFile.split(sep).join("/"));
  if (forward === "." || forward === "..") return forward;
  return forward.startsWith("../") ? forward : `./${forward}`;
}

function refuseLayout(file: string, advice: string): never {
  throw new ConfigEditError("unsupported_layout", `${basename(file)} is laid out in a way that cannot be edited without touching the rest; ${advice}`);
}
