export type Schema = Readonly<Record<string, unknown>>;

/** A format as the schema of an object. */
export interface ObjectSchema {
  readonly schema: { readonly type: "object" } & Schema;
  /** True if the object holds the value as its only member. */
  readonly isWrapped: boolean;
}

/** Formats come from any worker and may be nested without limit. */
const MAX_DEPTH = 64;

/** Returns the schema of an object for a format. A format of something else becomes the object's `member`. */
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

/** Resolves a format that is only a `$ref` to one of its own definitions, as generators write them. */
function resolveRef(format: Schema): Schema {
  const [, group, name] =
    /^#\/(\$defs|definitions)\/([^/]+)$/.exec(typeof format.$ref === "string" ? format.$ref : "") ?? [];
  const definitions = group === undefined ? undefined : format[group];
  if (group === undefined || name === undefined || !isSchema(definitions) || !Object.hasOwn(definitions, name))
    return format;
  const target = definitions[name];
  return isSchema(target) ? { ...target, [group]: definitions } : format;
}

/** Rewrites references that start at the root, because the format is no longer the root. */
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
