import { type TypeNode, union, unknown } from "./type-node.ts";

/** Replaces definitions that refer only to themselves by unknown, because no language can express them. */
export function withoutCycles(definitions: ReadonlyMap<string, TypeNode>): ReadonlyMap<string, TypeNode> {
  // An option that refers to the union itself adds nothing.
  const own = new Map(
    [...definitions].map(([name, node]) => [
      name,
      node.kind === "union" ? union(node.options.filter((option) => !isReferenceTo(option, name))) : node,
    ]),
  );
  return new Map(
    [...own].map(([name, node]) => [name, isCyclic(name, own) ? unknown("a format that refers to itself") : node]),
  );
}

function isCyclic(name: string, definitions: ReadonlyMap<string, TypeNode>): boolean {
  const seen = new Set<string>();
  const open = [name];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const next of directReferences(definitions.get(at))) {
      if (next === name) return true;
      if (!seen.has(next)) open.push(next);
      seen.add(next);
    }
  }
  return false;
}

/** Returns the references that the type is, not those that it contains. */
function directReferences(node: TypeNode | undefined): readonly string[] {
  if (node?.kind === "reference") return [node.name];
  return node?.kind === "union" ? node.options.flatMap(directReferences) : [];
}

function isReferenceTo(node: TypeNode, name: string): boolean {
  return node.kind === "reference" && node.name === name;
}
