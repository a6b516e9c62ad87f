// Resolves dependencies in package-lock.json as Node does. Plain Node without dependencies.

/** @typedef {Record<string, Record<string, any>>} LockEntries Entries of a lock file (`packages`), by their path. */

/**
 * Returns true for an entry that npm downloads: neither the repository, nor one of its workspaces, nor the link to one.
 */
export function isDownloaded(path, entry) {
  return path.includes("node_modules/") && entry.link !== true;
}

/** Returns the paths of the workspaces. */
export function workspacePaths(/** @type {LockEntries} */ entries) {
  return Object.keys(entries).filter((path) => path !== "" && !path.includes("node_modules/"));
}

/**
 * Returns the name of the package at a path. An alias and a workspace have it in their entry; others are named after
 * their folder.
 */
export function packageName(path, entry) {
  return entry.name ?? path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

/**
 * Returns the path of the entry that `name` resolves to in the package at `from`, or undefined. Looks in the package's
 * own node_modules and in that of each folder above. A link is followed to its workspace.
 *
 * @param {LockEntries} entries
 */
export function resolveDependency(entries, from, name) {
  for (let folder = from; ; folder = parentFolder(folder)) {
    const path = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    const entry = entries[path];
    if (entry !== undefined) return entry.link === true ? entry.resolved : path;
    if (folder === "") return undefined;
  }
}

function parentFolder(path) {
  const parts = path.split("/").slice(0, -1);
  if (parts.at(-1) === "node_modules") parts.pop();
  return parts.join("/");
}

/**
 * Returns the names that an entry depends on at run time, without optional peer dependencies. `isOptional` is true if
 * npm may leave the package out, as on another platform.
 *
 * @returns {{ name: string, isOptional: boolean }[]}
 */
export function runtimeDependencies(entry) {
  const optional = Object.keys(entry.optionalDependencies ?? {});
  const required = Object.keys(entry.dependencies ?? {}).filter((name) => !optional.includes(name));
  const peers = Object.keys(entry.peerDependencies ?? {}).filter(
    (name) => entry.peerDependenciesMeta?.[name]?.optional !== true,
  );
  return [
    ...[...required, ...peers].map((name) => ({ name, isOptional: false })),
    ...optional.map((name) => ({ name, isOptional: true })),
  ];
}

/**
 * Returns the entries that the packages at `roots` need at run time, including the roots. Maps each path to the path of
 * a package that needs it, on the shortest chain from a root; a root is mapped to undefined.
 *
 * @param {LockEntries} entries
 * @param {readonly string[]} roots
 * @returns {Map<string, string | undefined>}
 */
export function runtimeClosure(entries, roots) {
  const closure = new Map(roots.map((root) => [root, undefined]));
  // A map can grow while it is iterated, and iterates in order of insertion: a breadth-first search.
  for (const path of closure.keys()) {
    for (const { name } of runtimeDependencies(entries[path] ?? {})) {
      const dependency = resolveDependency(entries, path, name);
      if (dependency !== undefined && !closure.has(dependency)) closure.set(dependency, path);
    }
  }
  return closure;
}

/** Returns the chain of paths from a root of the closure to `path`. */
export function chainTo(closure, path) {
  const chain = [path];
  for (let dependant = closure.get(path); dependant !== undefined; dependant = closure.get(dependant))
    chain.unshift(dependant);
  return chain;
}
