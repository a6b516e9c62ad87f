import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";

type SyntaxNode = ReturnType<typeof syntaxTree>["topNode"];
type Schema = Readonly<Record<string, unknown>>;

function asSchema(value: unknown): Schema | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : undefined;
}

/**
 * Returns a function that completes member names and enum values from a JSON Schema. It follows local `$ref`s, `allOf`,
 * `anyOf` and `oneOf`.
 */
export function schemaCompletion(schema: unknown): (context: CompletionContext) => CompletionResult | null {
  const root = asSchema(schema);
  return ({ state, pos, explicit }) => {
    if (root === undefined) return null;
    const node = syntaxTree(state).resolveInner(pos, -1);
    const isText = node.name === "String" || node.name === "PropertyName";
    if (!isText && !explicit) return null;
    const from = isText ? node.from : pos;
    const to = isText ? node.to : pos;
    const holder =
      node.name === "Object"
        ? node
        : node.parent?.name === "Object"
          ? node.parent
          : node.parent?.name === "Property" && node.name === "PropertyName"
            ? node.parent.parent
            : null;
    if (holder?.name === "Object")
      return { from, to, options: names(at(root, pathOf(holder, state), root), holder, state), filter: true };
    const found = at(root, pathOf(node, state), root);
    const values = found.flatMap((each) =>
      Array.isArray(each.enum) ? each.enum : each.type === "boolean" ? [true, false] : [],
    );
    return values.length === 0
      ? null
      : { from, to, options: values.map((value) => ({ label: JSON.stringify(value), type: "enum" })) };
  };
}

function names(schemas: readonly Schema[], holder: SyntaxNode, state: EditorState): Completion[] {
  const present = new Set(holder.getChildren("Property").map((property) => nameOf(property, state)));
  return schemas.flatMap((schema) =>
    Object.entries(asSchema(schema.properties) ?? {})
      .filter(([name]) => !present.has(name))
      .map(([name, member]) => {
        const { description } = asSchema(member) ?? {};
        return {
          label: JSON.stringify(name),
          type: "property",
          ...(typeof description === "string" ? { info: description } : {}),
        };
      }),
  );
}

/** Returns the path to a node, as names of members and `[]` for array items. */
function pathOf(node: SyntaxNode, state: EditorState): readonly string[] {
  const path: string[] = [];
  for (let up: SyntaxNode | null = node; up !== null; up = up.parent) {
    if (up.name === "Property") path.unshift(nameOf(up, state) ?? "");
    else if (up.parent?.name === "Array") path.unshift("[]");
  }
  return path;
}

function nameOf(property: SyntaxNode, state: EditorState): string | undefined {
  const name = property.getChild("PropertyName");
  if (name === null) return undefined;
  try {
    return String(JSON.parse(state.sliceDoc(name.from, name.to)));
  } catch {
    return undefined;
  }
}

const MAX_STEPS = 32;

/** Returns the schemas of the value at a path. */
function at(schema: Schema, path: readonly string[], root: Schema, steps = 0): readonly Schema[] {
  if (steps > MAX_STEPS) return [];
  if (typeof schema.$ref === "string") {
    let target: unknown = schema.$ref.startsWith("#") ? root : undefined;
    for (const part of schema.$ref.slice(2).split("/").filter(Boolean))
      target = asSchema(target)?.[part.replaceAll("~1", "/").replaceAll("~0", "~")];
    const found = asSchema(target);
    return found === undefined ? [] : at(found, path, root, steps + 1);
  }
  const branches = [schema.allOf, schema.anyOf, schema.oneOf]
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .map(asSchema);
  const beside = branches.flatMap((branch) => (branch === undefined ? [] : at(branch, path, root, steps + 1)));
  const [name, ...rest] = path;
  if (name === undefined) return [schema, ...beside];
  const properties = asSchema(schema.properties);
  const next =
    name === "[]"
      ? schema.items
      : properties !== undefined && Object.hasOwn(properties, name)
        ? properties[name]
        : schema.additionalProperties;
  const inner = asSchema(next);
  return [...(inner === undefined ? [] : at(inner, rest, root, steps + 1)), ...beside];
}
