import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../files/replace-file.ts";
import { MAX_LOCK_FILE_BYTES, readBoundedFile } from "./bounded-file.ts";

const LOCK_FILE = "package-lock.json";
const LOCAL = "file:";

/** A lock file of npm without the entries of archives that have changed since it was written. */
export interface LockWithoutArchives {
  /** Paths of the changed archives, as written in the lock file. */
  readonly archives: readonly string[];
  write(): Promise<void>;
  /** Writes the previous text again. */
  restore(): Promise<void>;
}

/**
 * Finds archives on this machine that differ from their checksums in the lock file. Without this, npm would install
 * their previous content from its cache, without a warning. Returns undefined if there are none.
 */
export async function lockWithoutChangedArchives(folder: string): Promise<LockWithoutArchives | undefined> {
  const file = join(folder, LOCK_FILE);
  const text = await readBoundedFile(file, MAX_LOCK_FILE_BYTES).catch(() => undefined);
  const lock = text === undefined ? undefined : parsed(text);
  if (text === undefined || lock?.packages == null) return undefined;
  // If an install was killed while it updated the lock file, entries of archives are missing. `npm ci` rejects such a
  // file.
  const archives = dependenciesWithoutEntry(lock.packages);
  for (const [place, entry] of Object.entries(lock.packages)) {
    const { resolved, integrity } = entry ?? {};
    if (typeof resolved !== "string" || typeof integrity !== "string" || !resolved.startsWith(LOCAL)) continue;
    const path = resolved.slice(LOCAL.length);
    if (!(await differs(join(folder, path), integrity))) continue;
    archives.push(path);
    delete lock.packages[place];
  }
  if (archives.length === 0) return undefined;
  return {
    archives,
    write: () => replaceFile(file, `${JSON.stringify(lock, null, 2)}\n`, { like: file }),
    restore: () => replaceFile(file, text, { like: file }),
  };
}

interface Lock {
  readonly packages?: Packages | null;
}

type Packages = Record<string, Entry | null>;

interface Entry {
  readonly resolved?: unknown;
  readonly integrity?: unknown;
  readonly dependencies?: Readonly<Record<string, unknown>>;
  readonly devDependencies?: Readonly<Record<string, unknown>>;
}

/** Returns the paths of archives that the folder depends on, but that have no entry in the lock file. */
function dependenciesWithoutEntry(packages: Packages): string[] {
  const own = packages[""];
  return Object.entries({ ...own?.dependencies, ...own?.devDependencies })
    .filter(([name]) => packages[`node_modules/${name}`] === undefined)
    .flatMap(([, spec]) => (typeof spec === "string" && spec.startsWith(LOCAL) ? [spec.slice(LOCAL.length)] : []));
}

function parsed(text: string): Lock | undefined {
  try {
    return (JSON.parse(text) as Lock | null) ?? undefined;
  } catch {
    // Ignored: npm reports the problem of the file.
    return undefined;
  }
}

/**
 * True if the file's checksum is another one. False for a missing file, which npm reports, and for an unknown checksum
 * kind.
 */
async function differs(file: string, integrity: string): Promise<boolean> {
  const [, algorithm, expected] = /^(sha(?:1|256|384|512))-(\S+)$/.exec(integrity) ?? [];
  const entry = await stat(file).catch(() => undefined);
  if (algorithm === undefined || entry?.isFile() !== true) return false;
  const hash = createHash(algorithm);
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest("base64") !== expected;
}
