import {
  type InputOf,
  isStandardSchema,
  type OutputOf,
  type StandardJsonSchemaOptions,
  type StandardSchema,
} from "./standard-schema.ts";

/** A JSON Schema document. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly "~standard"?: never;
}

/**
 * Schema of a payload. The SDK enforces it if it is a Standard Schema (zod, valibot, arktype). If it is a JSON Schema,
 * it is only shown.
 */
export type Format = StandardSchema | JsonSchema | boolean;

const TARGET = { target: "draft-2020-12" } as const;

/**
 * Returns the format as JSON Schema. Returns undefined for a schema of a library that has no conversion to JSON Schema;
 * `withJsonSchema` adds a JSON Schema to such a schema.
 *
 * @throws TypeError that names `what`, if the library's conversion fails, or if the format is no schema.
 */
export function toJsonSchema(format: Format | undefined, what: string): unknown {
  if (format === undefined || typeof format === "boolean") return format;
  if (isStandardSchema(format)) {
    try {
      return jsonSchemaOf(format);
    } catch (cause) {
      throw new TypeError(`${what} cannot be written as JSON Schema: ${(cause as Error).message}`, { cause });
    }
  }
  if (typeof format !== "object" || format === null || Array.isArray(format))
    throw new TypeError(`${what} must be a schema (zod, valibot, arktype or another Standard Schema) or a JSON Schema`);
  if ("_def" in format || "_zod" in format)
    throw new TypeError(`${what} is a schema that does not implement Standard Schema; update its library`);
  return format;
}

/**
 * Like `toJsonSchema`, but for schemas that convert strings to other types, for example to dates. Parts that JSON
 * Schema cannot express become schemas that accept any value. Returns undefined if the library cannot convert the
 * schema.
 */
export function shownJsonSchema(schema: StandardSchema): unknown {
  try {
    // This option is for zod. Other libraries ignore it.
    return jsonSchemaOf(schema, { ...TARGET, libraryOptions: { unrepresentable: "any" } });
  } catch {
    return undefined;
  }
}

function jsonSchemaOf(schema: StandardSchema, options: StandardJsonSchemaOptions = TARGET): unknown {
  const { jsonSchema } = schema["~standard"];
  if (jsonSchema !== undefined) return jsonSchema.input(options);
  // Zod 4 releases from before Standard JSON Schema have the conversion as a method of the schema.
  const own = (schema as { readonly toJSONSchema?: unknown }).toJSONSchema;
  return typeof own === "function" ? (own.call(schema, { io: "input" }) as unknown) : undefined;
}

/**
 * Returns the schema with a JSON Schema, which listings, OpenAPI and the console show. It is needed for schemas of
 * libraries without a conversion of their own. Example with `toJsonSchema` of `@valibot/to-json-schema`:
 * `withJsonSchema(schema, toJsonSchema(schema))`.
 */
export function withJsonSchema<Schema extends StandardSchema>(
  schema: Schema,
  jsonSchema: object,
): StandardSchema<InputOf<Schema>, OutputOf<Schema>> {
  const convert = (): Record<string, unknown> => ({ ...jsonSchema });
  const standard = schema["~standard"] as StandardSchema<InputOf<Schema>, OutputOf<Schema>>["~standard"];
  return {
    "~standard": {
      version: 1,
      vendor: standard.vendor,
      validate: (value) => standard.validate(value),
      jsonSchema: { input: convert, output: convert },
    },
  };
}
