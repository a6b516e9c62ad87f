import { didYouMean } from "@svc-runtime/protocol";

/** An entry with its dependencies. `path` is the location of the dependency list in the file. */
export interface Ordered<Path> {
  readonly name: string;
  readonly dependsOn: readonly string[];
  readonly where: string;
  readonly path: Path;
}

/** A problem of one element of a `depends_on` list. */
export interface DependencyProblem<Path> {
  readonly of: Ordered<Path>;
  /** Index of the element in its list. */
  readonly index: number;
  readonly message: string;
}

/**
 * Returns unknown names, entries that depend on themselves, and dependency cycles. Each cycle is reported once, at the
 * entry that closes it. `others` are further names that are valid: the names of modules and of entries with problems.
 */
export function dependencyProblems<Path>(
  entries: readonly Ordered<Path>[],
  others: readonly string[],
): DependencyProblem<Path>[] {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  const known = [...byName.keys(), ...others];
  const problems: DependencyProblem<Path>[] = [];
  for (const of of entries) {
    for (const [index, name] of of.dependsOn.entries()) {
      if (name === of.name) problems.push({ of, index, message: "an entry cannot depend on itself" });
      else if (!known.includes(name))
        problems.push({
          of,
          index,
          message: `no worker, command or module of this file is named ${JSON.stringify(name)}${didYouMean(name, known)}`,
        });
    }
  }
  const done = new Set<string>();
  for (const entry of entries) walk(entry, []);
  return problems;

  function walk(of: Ordered<Path>, above: readonly string[]): void {
    if (done.has(of.name)) return;
    const chain = [...above, of.name];
    for (const [index, name] of of.dependsOn.entries()) {
      if (name === of.name) continue;
      const start = chain.indexOf(name);
      const next = byName.get(name);
      if (start >= 0)
        problems.push({
          of,
          index,
          message: `dependency cycle: ${[...chain.slice(start), name].join(" depends on ")}`,
        });
      else if (next !== undefined) walk(next, chain);
    }
    done.add(of.name);
  }
}
