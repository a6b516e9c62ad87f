export type Schema = Readonly<Record<string, unknown>>;

/** A format that was converted to the schema of an object. */
export interface ObjectSchema {
  readonly schema: { readonly type: "object" } & Schema;
  /** True if the format was not an object. The value is then the only member of the object. */
  readonly isWrapped: boolean;
}

/** Maximum depth of a format. It is limited because formats come from workers and may be nested without limit. */
const MAX_DEPTH = 64;

/**
 * Returns the schema of an object for a format. If the format is not an object, the value becomes the object's member
 * `member`.
 */
export function objectSchema(format: unknown, member: string): ObjectSchema {
  const schema = isSchema(format) ? resolveRef(format) : undefined;
  if (schema?.type === "object") return { schema: { ...schema, type: "object" }, isWrapped: false };
  return {
    schema: {
      type: "object",
      properties: { [member]: withMovedRefs(format, { member, depth: 0 }) },
      required: [member],
      additionalProperties: false,
    },
    isWrapped: true,
  };
}

/**
 * Resolves a format that consists only of a `$ref` to one of its own definitions. Some schema generators write such
 * formats.
 */
function resolveRef(format: Schema): Schema {
  const [, group, name] =
    /^#\/(\$defs|definitions)\/([^/]+)$/.exec(typeof format.$ref === "string" ? format.$ref : "") ?? [];
  const definitions = group === undefined ? undefined : format[group];
  if (group === undefined || name === undefined || !isSchema(definitions) || !Object.hasOwn(definitions, name))
    return format;
  const target = definitions[name];
  return isSchema(target) ? { ...target, [group]: definitions } : format;
}

/** Rewrites references that start at the root of the format, because the format is no longer the root of the schema. */
function withMovedRefs(node: unknown, place: { readonly member: string; readonly depth: number }): unknown {
  const { member, depth } = place;
  if (depth > MAX_DEPTH) return {};
  const below = { member, depth: depth + 1 };
  if (Array.isArray(node)) return node.map((item) => withMovedRefs(item, below));
  if (!isSchema(node)) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [
      key,
      key === "$ref" && typeof value === "string" && value.startsWith("#")
        ? `#/properties/${member}${value.slice(1)}`
        : withMovedRefs(value, below),
    ]),
  );
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
