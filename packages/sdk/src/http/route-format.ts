import { shownJsonSchema } from "../schema/schema.ts";
import { isStandardSchema, type StandardSchema } from "../schema/standard-schema.ts";

/** Parts of a request for which a route may have schemas. */
export const REQUEST_PARTS = ["params", "query", "headers", "body"] as const;
export type RequestPart = (typeof REQUEST_PARTS)[number];

/** Schema of a part, and the names of the query parameters that are always lists. */
export interface PartSchema {
  readonly schema: StandardSchema;
  readonly lists: ReadonlySet<string>;
}
export type PartSchemas = Partial<Readonly<Record<RequestPart, PartSchema>>>;

type JsonObject = Readonly<Record<string, unknown>>;

/** Members of the function's payload, by part of the request. */
const MEMBERS: Readonly<Record<RequestPart, string>> = {
  params: "path_params",
  query: "query_params",
  headers: "headers",
  body: "body",
};

/**
 * Returns the schemas of a route's parts, and the JSON Schema of the function's payload. The JSON Schema is undefined
 * if no part has a schema with one.
 *
 * @throws TypeError for a part that is not a schema.
 */
export function routeFormat(
  route: string,
  given: Readonly<Partial<Record<RequestPart, unknown>>>,
): { readonly schemas: PartSchemas; readonly requestFormat: JsonObject | undefined } {
  const schemas: Partial<Record<RequestPart, PartSchemas[RequestPart]>> = {};
  const properties: Record<string, unknown> = {};
  const definitions: Record<string, unknown> = {};
  for (const part of REQUEST_PARTS) {
    const schema = given[part];
    if (schema === undefined) continue;
    checkSchema(schema, `${part} of the route ${route}`);
    const format = jsonSchemaOf(schema);
    schemas[part] = { schema, lists: new Set(listsIn(format)) };
    if (format === undefined) continue;
    const { $schema: _, $defs = {}, ...rest } = format;
    const moved = (value: unknown): unknown => withMovedRefs(value, part);
    properties[MEMBERS[part]] = moved(rest);
    for (const [name, definition] of Object.entries($defs as JsonObject))
      definitions[`${part}.${name}`] = moved(definition);
  }
  return { schemas: schemas as PartSchemas, requestFormat: objectFormat(properties, definitions) };
}

/**
 * Returns the JSON Schema of the response's body, or undefined.
 *
 * @throws TypeError for a value that is not a schema.
 */
export function responseFormat(route: string, schema: unknown): JsonObject | undefined {
  if (schema === undefined) return undefined;
  checkSchema(schema, `response of the route ${route}`);
  return jsonSchemaOf(schema);
}

function checkSchema(value: unknown, what: string): asserts value is StandardSchema {
  if (!isStandardSchema(value))
    throw new TypeError(`${what} must be a schema of zod, valibot, arktype or another Standard Schema`);
}

function jsonSchemaOf(schema: StandardSchema): JsonObject | undefined {
  const format = shownJsonSchema(schema);
  return typeof format === "object" && format !== null ? (format as JsonObject) : undefined;
}

function objectFormat(properties: JsonObject, definitions: JsonObject): JsonObject | undefined {
  const names = Object.keys(properties);
  if (names.length === 0) return undefined;
  const format = { type: "object", properties, required: names };
  return Object.keys(definitions).length === 0 ? format : { ...format, $defs: definitions };
}

/** Returns the names of the members that are arrays. */
function listsIn(format: JsonObject | undefined): readonly string[] {
  const properties = (format?.properties ?? {}) as Readonly<Record<string, { readonly type?: unknown } | boolean>>;
  return Object.entries(properties)
    .filter(([, schema]) => typeof schema === "object" && schema.type === "array")
    .map(([name]) => name);
}

/**
 * Moves the references in a part's schema. They start at its root, and this root is now a member of the payload's
 * schema.
 */
function withMovedRefs(value: unknown, part: RequestPart): unknown {
  if (Array.isArray(value)) return value.map((item) => withMovedRefs(item, part));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([keyword, inner]) => [
      keyword,
      keyword === "$ref" && typeof inner === "string" ? movedRef(inner, part) : withMovedRefs(inner, part),
    ]),
  );
}

function movedRef(ref: string, part: RequestPart): string {
  if (ref.startsWith("#/$defs/")) return `#/$defs/${part}.${ref.slice("#/$defs/".length)}`;
  return ref.startsWith("#") ? `#/properties/${MEMBERS[part]}${ref.slice(1)}` : ref;
}
