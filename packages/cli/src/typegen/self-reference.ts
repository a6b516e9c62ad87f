import { type TypeNode, union, unknown } from "./type-node.ts";

/** Definitions that no language takes are those that are, in the end, nothing but themselves: they become unknown. */
export function withoutCircles(definitions: ReadonlyMap<string, TypeNode>): ReadonlyMap<string, TypeNode> {
  // An option that is the whole again adds nothing.
  const own = new Map(
    [...definitions].map(([name, node]) => [name, node.kind === "union" ? union(node.options.filter((option) => !isTo(option, name))) : node]),
  );
  return new Map([...own].map(([name, node]) => [name, isCircular(name, own) ? unknown("a format that refers to itself") : node]));
}

function isCircular(name: string, definitions: ReadonlyMap<string, TypeNode>): boolean {
  const seen = new Set<string>();
  const open = [name];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const next of straightFrom(definitions.get(at))) {
      if (next === name) return true;
      if (!seen.has(next)) open.push(next);
      seen.add(next);
    }
  }
  return false;
}

/** What the type is, and not only what it holds. */
function straightFrom(node: TypeNode | undefined): readonly string[] {
  if (node?.kind === "reference") return [node.name];
  return node?.kind === "union" ? node.options.flatMap(straightFrom) : [];
}

function isTo(node: TypeNode, name: string): boolean {
  return node.kind === "reference" && node.name === name;
}
