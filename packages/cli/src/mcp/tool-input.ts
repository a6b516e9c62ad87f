type Schema = Readonly<Record<string, unknown>>;

/** What a tool takes, which must be an object, and the payload that comes of it. */
export interface ToolInput {
  readonly schema: { readonly type: "object" } & Schema;
  payloadOf(input: Schema): unknown;
}

/** Where a payload stands that is no object itself. */
const PLACE = "payload";
/** Formats come over the wire, from any worker. */
const MAX_DEPTH = 64;

/** By a function's request format. One without a format takes any object; one that takes something else than an object gets it as `payload`. */
export function toolInput(format: unknown): ToolInput {
  if (format === null || format === undefined) return { schema: { type: "object" }, payloadOf: (input) => input };
  const schema = isSchema(format) ? pointedAt(format) : undefined;
  if (schema?.type === "object") return { schema: { ...schema, type: "object" }, payloadOf: (input) => input };
  return {
    schema: { type: "object", properties: { [PLACE]: moved(format, 0) }, required: [PLACE], additionalProperties: false },
    payloadOf: (input) => input[PLACE],
  };
}

/** A format that only says `$ref` to one of its own definitions, as generators write them. */
function pointedAt(format: Schema): Schema {
  const [, group, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(typeof format.$ref === "string" ? format.$ref : "") ?? [];
  const definitions = group === undefined ? undefined : format[group];
  if (group === undefined || name === undefined || !isSchema(definitions) || !Object.hasOwn(definitions, name)) return format;
  const target = definitions[name];
  return isSchema(target) ? { ...target, [group]: definitions } : format;
}

/** References of a format lead from its root, which is no longer the root. */
function moved(node: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return {};
  if (Array.isArray(node)) return node.map((item) => moved(item, depth + 1));
  if (!isSchema(node)) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [
      key,
      key === "$ref" && typeof value === "string" && value.startsWith("#") ? `#/properties/${PLACE}${value.slice(1)}` : moved(value, depth + 1),
    ]),
  );
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
