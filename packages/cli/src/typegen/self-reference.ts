import { type TypeNode, union, unknown } from "./type-node.ts";

/** Replaces definitions that refer only to themselves with unknown, because no language can express them. */
export function withoutCycles(definitions: ReadonlyMap<string, TypeNode>): ReadonlyMap<string, TypeNode> {
  // Remove options of a union that refer to the union itself, because they add no values.
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

/**
 * Returns the references to which a type is equal, directly or as an option of a union. References inside of objects
 * and lists are not included.
 */
function directReferences(node: TypeNode | undefined): readonly string[] {
  if (node?.kind === "reference") return [node.name];
  return node?.kind === "union" ? node.options.flatMap(directReferences) : [];
}

function isReferenceTo(node: TypeNode, name: string): boolean {
  return node.kind === "reference" && node.name === name;
}
