import { z } from "zod";

/**
 * A schema or a function that creates it on first use. This saves memory: some hundred functions of an engine may never
 * be called, and a schema takes 2 KB for each of its members.
 */
export type LazySchema<Schema extends z.ZodType> = Schema | (() => Schema);

const made = new WeakMap<() => z.ZodType, z.ZodType>();

/** Returns the schema; creates it on first use. */
export function schemaOf<Schema extends z.ZodType>(source: LazySchema<Schema>): Schema {
  if (typeof source !== "function") return source;
  let schema = made.get(source) as Schema | undefined;
  if (schema === undefined) {
    schema = source();
    made.set(source, schema);
  }
  return schema;
}

const jsonSchemas = new WeakMap<z.ZodType, z.core.JSONSchema.BaseSchema>();

/** Returns the JSON Schema. Creates it on first use, because many functions are never listed with their formats. */
export function jsonSchemaOf(schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  let found = jsonSchemas.get(schema);
  if (found === undefined) {
    found = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
    jsonSchemas.set(schema, found);
  }
  return found;
}
