// Summarises JSON Schemas for display. Unknown constructs are shown as "any JSON".

/** One member of an object in a request or response format. */
export interface FormatMember {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string;
  /** A valid example value. */
  readonly sample: unknown;
}

type Schema = Readonly<Record<string, unknown>>;
/** Maximum nesting depth. `$ref` is not followed, so a schema cannot be endless, only deeply nested. */
const MAX_DEPTH = 4;

/** Returns the members of an object format, or undefined for any other format. */
export function membersOf(format: unknown): readonly FormatMember[] | undefined {
  if (!isSchema(format) || !isSchema(format.properties)) return undefined;
  const required = new Set(Array.isArray(format.required) ? format.required : []);
  return Object.entries(format.properties).map(([name, schema]) => ({
    name,
    type: typeOf(schema, 0),
    isRequired: required.has(name),
    description: isSchema(schema) && typeof schema.description === "string" ? schema.description : "",
    sample: sampleOf(schema, 0),
  }));
}

/** Returns a short description of a format: `number`, `list of text`, `"a" or "b"`. */
export function typeOf(schema: unknown, depth = 0): string {
  if (!isSchema(schema) || depth > MAX_DEPTH) return "any JSON";
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  if ("const" in schema) return JSON.stringify(schema.const);
  const options = optionsOf(schema);
  if (options !== undefined) return [...new Set(options.map((option) => typeOf(option, depth + 1)))].join(" or ");
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((type) => typeof type === "string");
  if (types.length === 0) return "any JSON";
  return types
    .map((type) => (type === "array" ? `list of ${typeOf(schema.items, depth + 1)}` : (WORDS[type] ?? type)))
    .join(" or ");
}

const WORDS: Readonly<Record<string, string>> = { string: "text", integer: "whole number" };

/** Returns an example value for the format. */
export function sampleOf(schema: unknown, depth = 0): unknown {
  if (!isSchema(schema) || depth > MAX_DEPTH) return null;
  if ("const" in schema) return schema.const;
  for (const member of ["default", "example"]) if (member in schema) return schema[member];
  for (const list of [schema.examples, schema.enum, optionsOf(schema)?.map((option) => sampleOf(option, depth + 1))]) {
    if (Array.isArray(list) && list.length > 0) return list[0];
  }
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "object") {
    const required = (membersOf(schema) ?? []).filter(({ isRequired }) => isRequired);
    return Object.fromEntries(required.map(({ name, sample }) => [name, sample]));
  }
  if (type === "array") return [sampleOf(schema.items, depth + 1)];
  if (type === "number" || type === "integer") return typeof schema.minimum === "number" ? schema.minimum : 1;
  return type === "string" ? "text" : type === "boolean" ? true : null;
}

function optionsOf({ anyOf, oneOf }: Schema): readonly unknown[] | undefined {
  return Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
