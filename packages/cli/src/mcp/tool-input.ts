type Schema = Readonly<Record<string, unknown>>;

/** Input schema of a tool, which must be an object, and the conversion to the function's payload. */
export interface ToolInput {
  readonly schema: { readonly type: "object" } & Schema;
  payloadOf(input: Schema): unknown;
}

/** Member that holds a payload that is not an object. */
const PAYLOAD_MEMBER = "payload";
/** Formats come from any worker and may be nested without limit. */
const MAX_DEPTH = 64;

/**
 * Returns the input of a function's tool. Without a format the tool takes any object. A function that takes something
 * other than an object gets it as `payload`.
 */
export function toolInput(format: unknown): ToolInput {
  if (format === null || format === undefined) return { schema: { type: "object" }, payloadOf: (input) => input };
  const schema = isSchema(format) ? resolveRef(format) : undefined;
  if (schema?.type === "object") return { schema: { ...schema, type: "object" }, payloadOf: (input) => input };
  return {
    schema: {
      type: "object",
      properties: { [PAYLOAD_MEMBER]: withMovedRefs(format, 0) },
      required: [PAYLOAD_MEMBER],
      additionalProperties: false,
    },
    payloadOf: (input) => input[PAYLOAD_MEMBER],
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
function withMovedRefs(node: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return {};
  if (Array.isArray(node)) return node.map((item) => withMovedRefs(item, depth + 1));
  if (!isSchema(node)) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [
      key,
      key === "$ref" && typeof value === "string" && value.startsWith("#")
        ? `#/properties/${PAYLOAD_MEMBER}${value.slice(1)}`
        : withMovedRefs(value, depth + 1),
    ]),
  );
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
