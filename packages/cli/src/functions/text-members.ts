import type { Worker } from "@svc-runtime/sdk";
import type { FunctionDetail } from "../engine/listings.ts";

type Schema = Readonly<Record<string, unknown>>;

/**
 * Maximum depth of references and nesting. It limits the work, because the schema comes from a worker, and a `$ref` may
 * refer to itself.
 */
const MAX_DEPTH = 16;

/**
 * Resolves with a function that decides whether a member of the payload must be a string although `json` is another
 * value. This is so if the function's request format accepts a string for this member, but not a value of that type.
 */
export async function textMembersOf(
  engine: Worker,
  functionId: string,
): Promise<(name: string, json: string) => boolean> {
  // If the format is not known, values are used as typed.
  const detail = await engine
    .call<FunctionDetail>({ function_id: "engine::functions::info", payload: { function_id: functionId } })
    .catch(() => undefined);
  const format = detail?.request_format;
  return (name, json) => isTextMember(format, name, json);
}

export function isTextMember(format: unknown, name: string, json: string): boolean {
  if (!isSchema(format)) return false;
  const object = resolved(format, format, 0);
  const properties = isSchema(object?.properties) ? object.properties : {};
  const member = Object.hasOwn(properties, name) ? properties[name] : undefined;
  const types = typesOf(member, format, 0);
  return types?.has("string") === true && !types.has(typeOfJson(json));
}

/** Returns the JSON types that a schema accepts, or undefined if it may accept any. */
function typesOf(schema: unknown, root: Schema, depth: number): ReadonlySet<string> | undefined {
  if (!isSchema(schema) || depth > MAX_DEPTH) return undefined;
  if (typeof schema.$ref === "string") return typesOf(resolved(schema, root, depth), root, depth + 1);
  if (Array.isArray(schema.enum)) return new Set(schema.enum.map((value) => typeOfJson(JSON.stringify(value))));
  if ("const" in schema) return new Set([typeOfJson(JSON.stringify(schema.const))]);
  const options = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (options !== undefined) {
    const each = options.map((option) => typesOf(option, root, depth + 1));
    return each.includes(undefined) ? undefined : new Set(each.flatMap((types) => [...(types ?? [])]));
  }
  if (schema.type === undefined) return undefined;
  return new Set([schema.type].flat().map((type) => (type === "integer" ? "number" : String(type))));
}

/** Follows a reference within the format. Returns undefined for other references. */
function resolved(schema: Schema, root: Schema, depth: number): Schema | undefined {
  if (typeof schema.$ref !== "string") return schema;
  if (!schema.$ref.startsWith("#/") || depth > MAX_DEPTH) return undefined;
  let at: unknown = root;
  for (const part of schema.$ref.slice(2).split("/")) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    at = isSchema(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return isSchema(at) ? resolved(at, root, depth + 1) : undefined;
}

function typeOfJson(json: string): string {
  const value: unknown = JSON.parse(json);
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
