import { didYouMean } from "../kernel/nearest-name.ts";

/** One entry with what it waits for, and the path of that list in the file. */
export interface Ordered<Path> {
  readonly name: string;
  readonly dependsOn: readonly string[];
  readonly where: string;
  readonly path: Path;
}

/** What is wrong with one element of a `depends_on`. */
export interface OrderProblem<Path> {
  readonly of: Ordered<Path>;
  /** Of the element in its list. */
  readonly index: number;
  readonly message: string;
}

/**
 * Names that nobody has, entries that wait for themselves, and circles. Each circle is told once, at the entry that closes it. `others`: names
 * that stand in the file besides, of modules and of entries with mistakes of their own.
 */
export function orderProblems<Path>(entries: readonly Ordered<Path>[], others: readonly string[]): OrderProblem<Path>[] {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  const known = [...byName.keys(), ...others];
  const problems: OrderProblem<Path>[] = [];
  for (const of of entries) {
    for (const [index, name] of of.dependsOn.entries()) {
      if (name === of.name) problems.push({ of, index, message: "the entry cannot wait for itself" });
      else if (!known.includes(name))
        problems.push({ of, index, message: `no worker, command or module of this file is named ${JSON.stringify(name)}${didYouMean(name, known)}` });
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
      if (start >= 0) problems.push({ of, index, message: `${[...chain.slice(start), name].join(" waits for ")}, so that none of them could ever start` });
      else if (next !== undefined) walk(next, chain);
    }
    done.add(of.name);
  }
}
