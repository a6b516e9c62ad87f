import { readdir, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { MAX_LOCK_FILE_BYTES, readBoundedFile } from "./bounded-file.ts";
import { kindRules, lockFiles, type RuntimeKind } from "./runtime-kinds.ts";

/** Lock files. An install may write them itself. */
const LOCK_FILES = new Set([...Object.values(lockFiles).flat(), "Pipfile.lock"]);
const NAMED = new Set([
  ...LOCK_FILES,
  ...["pyproject.toml", "setup.py", "setup.cfg", ".python-version"],
  ...["package.json", "pnpm-workspace.yaml", ".yarnrc.yml", ".npmrc", "bunfig.toml", "deno.json", "deno.jsonc"],
  ...["go.mod", "go.work", "Cargo.toml", "rust-toolchain", "rust-toolchain.toml"],
]);

export function isDependencyFile(path: string): boolean {
  const name = basename(path);
  return NAMED.has(name) || /^requirements.*\.txt$/.test(name);
}

export function isLockFile(path: string): boolean {
  return LOCK_FILES.has(basename(path));
}

/**
 * True if a change of this file requires another install. False for lock files, because the install may write them
 * itself.
 */
export function concernsInstall(kind: RuntimeKind | undefined, path: string): boolean {
  if (isLockFile(path)) return false;
  return isDependencyFile(path) || (kind !== undefined && kindRules[kind].isCompiled);
}

/** Files that an install of a folder depends on. All paths are absolute. */
export interface DependencySources {
  /** Files that list what to install. */
  readonly files: readonly string[];
  /** Local files and folders that these files reference. */
  readonly local: readonly string[];
}

/**
 * Finds the dependency files of a folder. Follows references in `-r`, `-c` and `--find-links` lines, `file:` specs and
 * plain paths, also in the referenced folders.
 */
export async function findDependencySources(folder: string): Promise<DependencySources> {
  const files = new Set<string>();
  const local = new Set<string>();
  const folders = [folder];
  const seenFolders = new Set<string>();
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    if (seenFolders.has(next)) continue;
    seenFolders.add(next);
    const pending = (await readdir(next)).filter(isDependencyFile).map((name) => join(next, name));
    for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
      if (files.has(file)) continue;
      const text = await readBoundedFile(file, MAX_LOCK_FILE_BYTES).catch(() => undefined);
      if (text === undefined) continue;
      files.add(file);
      const found = referencesOf(file, text);
      pending.push(...found.included);
      for (const path of found.paths) {
        const entry = await stat(path).catch(() => undefined);
        if (entry === undefined || path === folder) continue;
        local.add(path);
        if (entry.isDirectory()) folders.push(path);
      }
    }
  }
  return { files: [...files].sort(), local: [...local].sort() };
}

interface References {
  /** Requirements files that the file includes. */
  readonly included: readonly string[];
  /** Local packages. */
  readonly paths: readonly string[];
}

/** Patterns of references to local packages, by file name. The path is the first group that matched. */
const REFERENCES: Readonly<Record<string, RegExp>> = {
  // Matches `name @ file:../a`, and `{ path = "../a" }` in tables of uv and Poetry.
  "pyproject.toml": /@\s*(file:[^"'\s;]+)|\bpath\s*=\s*["']([^"'\n]+)["']/g,
  "Cargo.toml": /\bpath\s*=\s*["']([^"'\n]+)["']/g,
  "go.mod": /=>\s*(\.{1,2}\/\S+|\/\S+)/g,
};

function referencesOf(file: string, text: string): References {
  if (basename(file) === "package.json")
    return { included: [], paths: packageJsonPaths(text).flatMap((spec) => localPath(dirname(file), spec)) };
  const pattern = REFERENCES[basename(file)];
  if (pattern !== undefined)
    return {
      included: [],
      paths: [...text.matchAll(pattern)].flatMap((match) =>
        localPath(dirname(file), match.slice(1).find(Boolean) ?? ""),
      ),
    };
  if (!file.endsWith(".txt")) return { included: [], paths: [] };
  return requirementReferences(dirname(file), text);
}

function packageJsonPaths(text: string): readonly string[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // Ignored: npm reports the problem of the file. The file's bytes are hashed nevertheless.
    return [];
  }
  if (typeof parsed !== "object" || parsed === null) return [];
  const sections = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"].map(
    (name) => (parsed as Record<string, unknown>)[name],
  );
  const specs = sections.flatMap((section) =>
    typeof section === "object" && section !== null ? Object.values(section) : [],
  );
  return specs.filter(
    (spec): spec is string => typeof spec === "string" && /^(file:|link:|\.{1,2}\/|\/|~\/)/.test(spec),
  );
}

function requirementReferences(folder: string, text: string): References {
  const included: string[] = [];
  const paths: string[] = [];
  for (const raw of text.replaceAll("\\\n", " ").split("\n")) {
    const line = raw.replace(/(^|\s)#.*$/, "").trim();
    if (line === "") continue;
    const include = /^(?:-r|--requirement|-c|--constraint)[\s=]*(\S+)/.exec(line)?.[1];
    if (include !== undefined) {
      included.push(resolve(folder, include));
      continue;
    }
    const source = /^(?:-f|--find-links)[\s=]*(\S+)/.exec(line)?.[1];
    if (source !== undefined) {
      paths.push(...localPath(folder, source));
      continue;
    }
    const named = /@\s*(file:\S+)/.exec(line)?.[1];
    const plain =
      line
        .replace(/^(?:-e|--editable)[\s=]*/, "")
        .split(/\s*;\s|\s+--/)[0]
        ?.trim() ?? "";
    const spec = named ?? plain.replace(/\[[^\]]*\]$/, "");
    if (named !== undefined || /^(file:|\.{1,2}(\/|$)|\/)/.test(spec) || /\.(whl|tar\.gz|zip)$/.test(spec))
      paths.push(...localPath(folder, spec));
  }
  return { included, paths };
}

/**
 * Returns the path of a local spec: `file:../a`, `file:///a`, `./a`, `/a`. Returns an empty list if the spec is not
 * local.
 */
function localPath(folder: string, spec: string): readonly string[] {
  const bare = spec.split("#")[0] ?? spec;
  if (bare.startsWith("file://")) {
    try {
      return [fileURLToPath(bare)];
    } catch {
      // The spec is not a local path, or it is relative after `file://`, which pip rejects too.
      return [];
    }
  }
  const path = bare.replace(/^(file:|link:)/, "");
  if (path === "" || /^[a-z+]+:\/\//i.test(path) || path.startsWith("~/")) return [];
  return [isAbsolute(path) ? resolve(path) : resolve(folder, path)];
}
