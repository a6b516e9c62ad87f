/** Folders and files that tools make, not people. `*` stands for any characters within a name. */
const DEFAULT_IGNORE: readonly string[] = [
  ...["node_modules", ".pnpm-store", ".parcel-cache", ".turbo", ".next", ".nuxt", ".svelte-kit", "target", ".venv", "venv", "__pycache__"],
  ...[".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", "vendor", ".bundle", ".gradle", ".m2", "obj", ".nuget", "_build", "deps"],
  ...["dist", "build", "out", "coverage", ".cache", ".git", ".svn", ".hg", ".idea", ".vscode", ".DS_Store", ".svc", "*.egg-info"],
  // Written by a running worker or by an editor; a restart for these would never end.
  ...["*.log", "*.pyc", "*.tsbuildinfo", "*.tmp", "*.swp", "*.swx", "*~", ".#*", "4913", "*.sqlite", "*.sqlite-*", "*.db", "*.db-*"],
];

/** Says whether a path, relative to the watched folder with `/` between names, is meant. */
export type PathRule = (path: string) => boolean;

/** What is left out of watching: what tools make, unless `include` names it, and `extra`. */
export function ignoreRule(extra: readonly string[], include: readonly string[] = []): PathRule {
  const named = include.flatMap((pattern) => pattern.split("/"));
  return pathRule([...DEFAULT_IGNORE.filter((usual) => !named.some((name) => matches(usual, name))), ...extra]);
}

/**
 * A name (`data`, `*.csv`) is meant at any depth, a path (`src/generated`) from the folder on; `**` in a path stands for any folders. What lies
 * below a folder that is meant is meant too.
 */
export function pathRule(given: readonly string[]): PathRule {
  const patterns = given.map((pattern) => pattern.replace(/^\.\//, "").replace(/\/+$/, ""));
  const names = patterns.filter((pattern) => !pattern.includes("/"));
  const paths = patterns.filter((pattern) => pattern.includes("/")).map((pattern) => pattern.replace(/^\//, "").split("/"));
  return (path) => {
    const parts = path.split("/");
    if (parts.some((part) => names.some((name) => matches(name, part)))) return true;
    return paths.some((pattern) => leadsTo(pattern, parts));
  };
}

/** Whether the pattern matches the path or a folder that it lies in. Goes back at most to the last `**`, as `matches` does within a name. */
function leadsTo(pattern: readonly string[], parts: readonly string[]): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let resume = 0;
  while (t < parts.length && p < pattern.length) {
    if (pattern[p] === "**") {
      star = p++;
      resume = t;
    } else if (matches(pattern[p] ?? "", parts[t] ?? "")) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (pattern[p] === "**") p++;
  return p === pattern.length;
}

/** Walks both texts once, going back at most to the last `*`: no pattern is slow. */
function matches(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let resume = 0;
  while (t < text.length) {
    if (pattern[p] === "*") {
      star = p++;
      resume = t;
    } else if (pattern[p] === text[t]) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}
