/** Folders and files that tools make, not people. `*` stands for any characters within a name. */
const DEFAULT_IGNORE: readonly string[] = [
  ...["node_modules", ".pnpm-store", ".parcel-cache", ".turbo", ".next", ".nuxt", ".svelte-kit", "target", ".venv", "venv", "__pycache__"],
  ...[".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", "vendor", ".bundle", ".gradle", ".m2", "obj", ".nuget", "_build", "deps"],
  ...["dist", "build", "out", "coverage", ".cache", ".git", ".svn", ".hg", ".idea", ".vscode", ".DS_Store", ".svc", "*.egg-info"],
  // Written by a running worker or by an editor; a restart for these would never end.
  ...["*.log", "*.pyc", "*.tsbuildinfo", "*.tmp", "*.swp", "*.swx", "*~", ".#*", "4913", "*.sqlite", "*.sqlite-*", "*.db", "*.db-*"],
];

/** Says whether a path, relative to the worker's folder with `/` between names, is left out of watching. */
export type IgnoreRule = (path: string) => boolean;

/**
 * `extra` comes from the manifest: a name (`data`, `*.csv`) is meant at any depth, a path (`src/generated`) from the worker's
 * folder on; what lies below an ignored folder is ignored too.
 */
export function ignoreRule(extra: readonly string[]): IgnoreRule {
  const patterns = [...DEFAULT_IGNORE, ...extra].map((pattern) => pattern.replace(/^\.\//, "").replace(/\/+$/, ""));
  const names = patterns.filter((pattern) => !pattern.includes("/"));
  const paths = patterns.filter((pattern) => pattern.includes("/")).map((pattern) => pattern.replace(/^\//, "").split("/"));
  return (path) => {
    const parts = path.split("/");
    if (parts.some((part) => names.some((name) => matches(name, part)))) return true;
    return paths.some((pattern) => pattern.length <= parts.length && pattern.every((name, index) => matches(name, parts[index] ?? "")));
  };
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
