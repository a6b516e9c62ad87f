import type { z } from "zod";

/** A schema, or how to make it: an idle engine has some hundred functions that nobody calls, and a schema takes 2 KB for each of its members. */
export type LateSchema<Schema extends z.ZodType> = Schema | (() => Schema);

const made = new WeakMap<() => z.ZodType, z.ZodType>();

/** Made when it is first asked for. */
export function schemaOf<Schema extends z.ZodType>(source: LateSchema<Schema>): Schema {
  if (typeof source !== "function") return source;
  let schema = made.get(source) as Schema | undefined;
  if (schema === undefined) {
    schema = source();
    made.set(source, schema);
  }
  return schema;
}
