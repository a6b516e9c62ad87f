import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { join, relative } from "node:path";
import { findDependencySources, isLockFile } from "./dependency-files.ts";

/** Version of the hash. Increase it when installs work differently, so that every worker is installed again. */
const FORMAT = "1";
/**
 * Limits for reading local packages, so that hashing is always fast. Files beyond the limit of bytes are compared by
 * size and modification time. Entries beyond the limit of entries are ignored.
 */
const MAX_READ_BYTES = 256 * 1024 * 1024;
const MAX_ENTRIES = 50_000;
/** Files and folders that tools create in a package's folder. The install itself creates some of them. */
const NOT_CONTENT = new Set([
  "node_modules",
  ".venv",
  "venv",
  "__pycache__",
  ".git",
  ".svc",
  ".pytest_cache",
  ".mypy_cache",
  ".ruff_cache",
]);

/** Archives that pip can install. */
const ARCHIVE = /\.(?:whl|tar\.gz|zip)$/;

/**
 * Lock files that a build may write into the folder that it reads. They are hashed as dependency files, not as content.
 */
const COMPILED_LOCKS = new Set(["Cargo.lock", "go.sum"]);

export interface DependencyHashes {
  /** Hash of everything that an install depends on. */
  readonly all: string;
  /** The same hash without lock files, because an install may write them itself. */
  readonly withoutLocks: string;
  /**
   * Hash of the archives among the local packages, including those in folders of `--find-links`. Empty if there are
   * none.
   */
  readonly archives: string;
}

/**
 * Hashes the manifest, the files that list what to install, and the contents of the local packages that these files
 * reference. `runtime` is the version of the runtime that runs the worker.
 */
export async function hashDependencies(options: {
  readonly folder: string;
  readonly manifestFile: string;
  readonly runtime: string;
  /** True if the install compiles the folder's files, so that they are hashed too. */
  readonly withSources: boolean;
}): Promise<DependencyHashes> {
  const { files, local } = await findDependencySources(options.folder);
  const all = createHash("sha256");
  const withoutLocks = createHash("sha256");
  const budget = { bytes: MAX_READ_BYTES, entries: MAX_ENTRIES };
  const base = `${FORMAT}\0${options.folder}\0${options.runtime}\0`;
  all.update(base);
  withoutLocks.update(base);
  for (const file of [options.manifestFile, ...files.filter((path) => path !== options.manifestFile)]) {
    const digest = await digestOfFile(file, budget);
    all.update(`${file}\0${digest}\0`);
    if (!isLockFile(file)) withoutLocks.update(`${file}\0${digest}\0`);
  }
  for (const path of options.withSources ? [options.folder, ...local] : local) {
    const digest = await digestOfTree(path, budget);
    all.update(`${path}\0${digest}\0`);
    withoutLocks.update(`${path}\0${digest}\0`);
  }
  return {
    all: all.digest("hex"),
    withoutLocks: withoutLocks.digest("hex"),
    archives: await digestOfArchives(local, budget),
  };
}

interface Budget {
  bytes: number;
  entries: number;
}

async function digestOfArchives(local: readonly string[], budget: Budget): Promise<string> {
  const archives: string[] = [];
  for (const path of local) {
    const names = await readdir(path).catch(() => []);
    archives.push(...[path, ...names.sort().map((name) => join(path, name))].filter((one) => ARCHIVE.test(one)));
  }
  if (archives.length === 0) return "";
  const hash = createHash("sha256");
  for (const path of archives) {
    // The archive was deleted after it was listed. The next hash will differ.
    hash.update(`${path}\0${await digestOfFile(path, budget).catch(() => "")}\0`);
  }
  return hash.digest("hex");
}

async function digestOfTree(root: string, budget: Budget): Promise<string> {
  const hash = createHash("sha256");
  const isPython = await exists(join(root, "pyproject.toml"));
  // setuptools builds in the package's `build` folder, so it is skipped. For a node package, `dist` and `build` are not
  // skipped, because they contain the code that is installed.
  const isRust = await exists(join(root, "Cargo.toml"));
  const skipped = (name: string): boolean =>
    NOT_CONTENT.has(name) ||
    name.endsWith(".egg-info") ||
    (isPython && name === "build") ||
    (isRust && name === "target") ||
    COMPILED_LOCKS.has(name);
  await addTree(hash, { root, path: root, skipped, budget });
  return hash.digest("hex");
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

interface TreeWalk {
  readonly root: string;
  readonly path: string;
  readonly skipped: (name: string) => boolean;
  readonly budget: Budget;
}

async function addTree(hash: Hash, walk: TreeWalk): Promise<void> {
  if (walk.budget.entries-- <= 0) return;
  const entry = await lstat(walk.path).catch(() => undefined);
  // The file was deleted after it was listed. The next hash will differ.
  if (entry === undefined) return;
  const name = relative(walk.root, walk.path);
  if (entry.isSymbolicLink()) {
    hash.update(`link\0${name}\0${await readlink(walk.path)}\0`);
  } else if (entry.isFile()) {
    hash.update(`file\0${name}\0${await digestOfFile(walk.path, walk.budget)}\0`);
  } else if (entry.isDirectory()) {
    hash.update(`folder\0${name}\0`);
    for (const child of (await readdir(walk.path)).sort()) {
      if (!walk.skipped(child)) await addTree(hash, { ...walk, path: join(walk.path, child) });
    }
  }
}

async function digestOfFile(file: string, budget: Budget): Promise<string> {
  const { size, mtimeMs } = await lstat(file);
  if (size > budget.bytes) return `${size}:${mtimeMs}`;
  budget.bytes -= size;
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
