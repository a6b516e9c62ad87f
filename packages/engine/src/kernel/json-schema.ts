import { z } from "zod";

const made = new WeakMap<z.ZodType, z.core.JSONSchema.BaseSchema>();

/** Made when someone looks: many of an engine's functions are never listed with their formats, and a start need not wait for them. */
export function jsonSchemaOf(schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  let found = made.get(schema);
  if (found === undefined) {
    found = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
    made.set(schema, found);
  }
  return found;
}
