import { type Member, type ObjectNode, onlyRequires, type TypeNode, union, unknown } from "./type-node.ts";

export interface IntersectionContext {
  /** Returns the target of a reference, or undefined while the target is still being read. */
  resolved(node: Reference): TypeNode | undefined;
  /** Counts one more node at this depth. Returns false if there are too many nodes. */
  spend(depth: number): boolean;
}

/**
 * Returns the type of the values that match all nodes. If there is no such value, or the type cannot be expressed,
 * returns unknown with a note.
 */
export function intersection(nodes: readonly TypeNode[], depth: number, context: IntersectionContext): TypeNode {
  let met: TypeNode | undefined = unknown();
  for (const node of nodes) met = met === undefined ? undefined : meet(met, node, depth, context);
  return met ?? unknown("no value matches all of the combined formats");
}

/** Returns the type of the values that match both nodes. Returns undefined if there are none. */
function meet(a: TypeNode, b: TypeNode, depth: number, context: IntersectionContext): TypeNode | undefined {
  if (!context.spend(depth)) return unknown("the format is too large");
  if (a.kind === "unknown") return a.note === undefined ? b : a;
  if (b.kind === "unknown") return b.note === undefined ? a : b;
  if (JSON.stringify(a) === JSON.stringify(b)) return a;
  if (a.kind === "reference") return referred(a, b, depth, context);
  if (b.kind === "reference") return referred(b, a, depth, context);
  if (a.kind === "union") return optionsOf(a.options.map((option) => meet(option, b, depth + 1, context)));
  if (b.kind === "union") return optionsOf(b.options.map((option) => meet(a, option, depth + 1, context)));
  return ofOneKind(a, b, depth, context) ?? ofTwoKinds(a, b) ?? ofTwoKinds(b, a);
}

type Reference = Extract<TypeNode, { kind: "reference" }>;

/**
 * Returns the intersection of a reference and a type. It is the reference itself if the other type adds no restriction.
 */
function referred(a: Reference, b: TypeNode, depth: number, context: IntersectionContext): TypeNode | undefined {
  const target = context.resolved(a);
  if (target === undefined) return isAnyObject(b) ? a : unknown("combination of several formats");
  const met = meet(target, b, depth + 1, context);
  return JSON.stringify(met) === JSON.stringify(target) ? a : met;
}

function ofOneKind(a: TypeNode, b: TypeNode, depth: number, context: IntersectionContext): TypeNode | undefined {
  if (a.kind === "array" && b.kind === "array")
    return { kind: "array", items: intersection([a.items, b.items], depth + 1, context) };
  if (a.kind === "map" && b.kind === "map")
    return { kind: "map", values: intersection([a.values, b.values], depth + 1, context) };
  return a.kind === "object" && b.kind === "object" ? intersectObjects(a, b, depth, context) : undefined;
}

function ofTwoKinds(a: TypeNode, b: TypeNode): TypeNode | undefined {
  if (a.kind === "literal") return literalOf(a, b);
  if (a.kind === "scalar" && b.kind === "scalar") return a.name === "integer" && b.name === "number" ? a : undefined;
  // An object type does not restrict the types of its other members.
  return a.kind === "map" && b.kind === "object" ? (isAnyObject(a) ? b : { ...b, open: true }) : undefined;
}

/** Returns true for a type that matches any object. */
function isAnyObject(node: TypeNode): boolean {
  return node.kind === "map" && node.values.kind === "unknown" && node.values.note === undefined;
}

function optionsOf(options: readonly (TypeNode | undefined)[]): TypeNode | undefined {
  const possible = options.filter((option) => option !== undefined);
  return possible.length === 0 ? undefined : union(possible);
}

function literalOf({ values }: Extract<TypeNode, { kind: "literal" }>, other: TypeNode): TypeNode | undefined {
  const fitting = values.filter((value) => {
    if (other.kind === "literal") return other.values.includes(value);
    if (other.kind !== "scalar") return false;
    if (value === null) return other.name === "null";
    return other.name === "integer" ? Number.isInteger(value) : typeof value === other.name;
  });
  return fitting.length === 0 ? undefined : { kind: "literal", values: fitting };
}

function intersectObjects(a: ObjectNode, b: ObjectNode, depth: number, context: IntersectionContext): ObjectNode {
  const members = new Map<string, Member>(a.members.map((member) => [member.name, member]));
  for (const member of b.members) {
    const known = members.get(member.name);
    if (known === undefined) members.set(member.name, member);
    else {
      const type = intersection([known.type, member.type], depth + 1, context);
      members.set(member.name, {
        ...member,
        type,
        required: known.required || member.required,
        description: known.description ?? member.description,
      });
    }
  }
  const open = onlyRequires(a) ? b.open : onlyRequires(b) ? a.open : a.open || b.open;
  return {
    kind: "object",
    members: [...members.values()].sort((left, right) => (left.name < right.name ? -1 : 1)),
    open,
  };
}
