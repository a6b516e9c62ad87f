import { compileGlob, fitsInOrder } from "@svc-runtime/protocol";

/** Folders and files that tools create. `*` matches any characters within a name. */
const DEFAULT_IGNORE: readonly string[] = [
  ...[
    "node_modules",
    ".pnpm-store",
    ".parcel-cache",
    ".turbo",
    ".next",
    ".nuxt",
    ".svelte-kit",
    "target",
    ".venv",
    "venv",
    "__pycache__",
  ],
  ...[
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    "vendor",
    ".bundle",
    ".gradle",
    ".m2",
    "obj",
    ".nuget",
    "_build",
    "deps",
  ],
  ...[
    "dist",
    "build",
    "out",
    "coverage",
    ".cache",
    ".git",
    ".svn",
    ".hg",
    ".idea",
    ".vscode",
    ".DS_Store",
    ".svc",
    "*.egg-info",
  ],
  // Written by a running worker or an editor; restarting for these would never end.
  ...[
    "*.log",
    "*.pyc",
    "*.tsbuildinfo",
    "*.tmp",
    "*.swp",
    "*.swx",
    "*~",
    ".#*",
    "4913",
    "*.sqlite",
    "*.sqlite-*",
    "*.db",
    "*.db-*",
  ],
];

/** Returns true if a path, relative to the watched folder with `/` between names, matches. */
export type PathRule = (path: string) => boolean;

/** Returns the rule for ignored paths: the paths in `extra`, and files created by tools unless `include` names them. */
export function ignoreRule(extra: readonly string[], include: readonly string[] = []): PathRule {
  const named = include.flatMap((pattern) => pattern.split("/"));
  return pathRule([...DEFAULT_IGNORE.filter((usual) => !named.some(compileGlob(usual))), ...extra]);
}

/**
 * Returns a rule for names and paths. A name (`data`, `*.csv`) matches at any depth. A path (`src/generated`) is
 * relative to the watched folder; `**` in it matches any folders. Everything below a matching folder matches too.
 */
export function pathRule(given: readonly string[]): PathRule {
  const patterns = given.map((pattern) => pattern.replace(/^\.\//, "").replace(/\/+$/, ""));
  const names = patterns.filter((pattern) => !pattern.includes("/")).map(compileGlob);
  const paths = patterns
    .filter((pattern) => pattern.includes("/"))
    .map((pattern) => pattern.replace(/^\//, "").split("/"));
  const globs = new Map(paths.flat().map((name) => [name, compileGlob(name)]));
  const fits = (wanted: string, name: string): boolean => globs.get(wanted)?.(name) ?? false;
  return (path) => {
    const parts = path.split("/");
    if (parts.some((part) => names.some((matches) => matches(part)))) return true;
    return paths.some((pattern) => fitsInOrder(pattern, parts, { any: "**", fits, where: "beginning" }));
  };
}
