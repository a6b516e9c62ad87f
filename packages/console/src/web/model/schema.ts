import { t } from "../labels/translate.ts";
import type { JsonValue } from "../lib/json.ts";

/** A JSON Schema object. Its members were not checked, because the schema comes from a worker. */
export type Schema = Readonly<Record<string, unknown>>;

const MAX_REFS = 16;

export function asSchema(value: unknown): Schema | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : undefined;
}

/**
 * Follows local `$ref`s. Replaces an `allOf` with one entry, and an `anyOf` with one entry besides null, by that entry.
 * Returns undefined if a reference has no target.
 */
export function resolve(
  schema: Schema,
  root: Schema,
): { readonly schema: Schema; readonly nullable: boolean } | undefined {
  let at: Schema = schema;
  let nullable = false;
  for (let step = 0; step < MAX_REFS; step++) {
    const inner = innerOf(at, root);
    if (inner === undefined) return undefined;
    nullable ||= inner.nullable;
    if (inner.schema === at) {
      const types = Array.isArray(at.type) ? at.type.filter((type) => type !== "null") : undefined;
      if (types === undefined) return { schema: at, nullable };
      nullable ||= types.length < (at.type as unknown[]).length;
      return { schema: types.length === 1 ? { ...at, type: types[0] } : at, nullable };
    }
    at = inner.schema;
  }
  return undefined;
}

/** Resolves one step. Returns the schema itself if there is nothing to resolve. */
function innerOf(at: Schema, root: Schema): { readonly schema: Schema; readonly nullable: boolean } | undefined {
  if (typeof at.$ref === "string") {
    const target = lookUp(at.$ref, root);
    if (target === undefined) return undefined;
    const { $ref: _ref, ...beside } = at;
    return { schema: { ...target, ...beside }, nullable: false };
  }
  for (const name of ["allOf", "anyOf", "oneOf"]) {
    const list = at[name];
    if (!Array.isArray(list)) continue;
    const others = list.map(asSchema).filter((option) => option?.type !== "null" || name === "allOf");
    const [only] = others;
    if (others.length !== 1 || only === undefined) continue;
    const { [name]: _options, ...beside } = at;
    return { schema: { ...only, ...beside }, nullable: others.length < list.length };
  }
  return { schema: at, nullable: false };
}

function lookUp(ref: string, root: Schema): Schema | undefined {
  if (ref === "#") return root;
  if (!ref.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const part of ref.slice(2).split("/")) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return asSchema(at);
}

/** Returns the members of an object: their names and schemas. */
export function propertiesOf(schema: Schema): readonly (readonly [string, Schema])[] {
  const properties = asSchema(schema.properties);
  if (properties === undefined) return [];
  return Object.entries(properties).map(([name, value]) => [name, asSchema(value) ?? {}]);
}

export function requiredOf(schema: Schema): ReadonlySet<string> {
  return new Set(
    Array.isArray(schema.required) ? schema.required.filter((name): name is string => typeof name === "string") : [],
  );
}

/** Returns a short description of the type: `string`, `integer or null`, `array of string`, `one of 3`. */
export function typeName(schema: Schema, root: Schema, depth = 0): string {
  const resolved = resolve(schema, root);
  if (resolved === undefined) return "any";
  const { schema: plain, nullable } = resolved;
  const suffix = nullable ? t` or null` : "";
  if (Object.hasOwn(plain, "const")) return `${JSON.stringify(plain.const)}${suffix}`;
  if (Array.isArray(plain.enum)) return t`one of ${plain.enum.length}${suffix}`;
  if (plain.type === "array" && depth < 4) {
    const items = asSchema(plain.items);
    return `array${items === undefined ? "" : t` of ${typeName(items, root, depth + 1)}`}${suffix}`;
  }
  if (typeof plain.type === "string") return `${plain.type}${suffix}`;
  if (Array.isArray(plain.type)) return `${plain.type.filter((type) => type !== "null").join(" or ")}${suffix}`;
  const options = plain.anyOf ?? plain.oneOf;
  if (Array.isArray(options) && depth < 4)
    return [...new Set(options.map((option) => typeName(asSchema(option) ?? {}, root, depth + 1)))].join(" or ");
  return plain.properties === undefined ? `any${suffix}` : `object${suffix}`;
}

/** Returns the constraints of a schema as texts: `at least 1`, `2 to 5 characters`, `matches ^a`. */
export function constraintsOf(schema: Schema): readonly string[] {
  const found: string[] = [];
  const add = (name: string, text: (value: unknown) => string): void => {
    if (schema[name] !== undefined && schema[name] !== null) found.push(text(schema[name]));
  };
  add("minimum", (value) => t`at least ${String(value)}`);
  add("maximum", (value) => t`at most ${String(value)}`);
  add("exclusiveMinimum", (value) => t`over ${String(value)}`);
  add("exclusiveMaximum", (value) => t`under ${String(value)}`);
  add("multipleOf", (value) => t`a multiple of ${String(value)}`);
  add("minLength", (value) => t`at least ${String(value)} characters`);
  add("maxLength", (value) => t`at most ${String(value)} characters`);
  add("pattern", (value) => t`matches ${String(value)}`);
  add("format", (value) => String(value));
  add("minItems", (value) => t`at least ${String(value)} items`);
  add("maxItems", (value) => t`at most ${String(value)} items`);
  if (schema.uniqueItems === true) found.push(t`unique items`);
  if (schema.additionalProperties === false) found.push(t`no additional properties`);
  if (Array.isArray(schema.enum)) found.push(schema.enum.map((value) => JSON.stringify(value)).join(", "));
  return found;
}

/** Converts a value in a schema (a default or an example) to the console's type for JSON. */
export function asJson(value: unknown): JsonValue {
  return value as JsonValue;
}
