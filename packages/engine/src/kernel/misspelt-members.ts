import type { z } from "zod";
import { nearestName } from "./nearest-name.ts";

/** Members that are looked at: whoever sends more that nobody knows has not misspelt them. */
const MAX_LOOKED_AT = 50;

/** One clause for each member of `value` that `schema` would leave out and whose name is close to one that it knows; undefined when there is none. */
export function misspeltMembers(schema: z.ZodType, value: unknown): string | undefined {
  const shape = (schema as { readonly shape?: object }).shape;
  if (shape === undefined || typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const clauses: string[] = [];
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(shape, name) && !name.startsWith("_"));
  for (const name of unknown.slice(0, MAX_LOOKED_AT)) {
    const meant = nearestName(name, Object.keys(shape));
    if (meant !== undefined) clauses.push(`unknown member \`${name}\`; did you mean ${meant}?`);
  }
  return clauses.length === 0 ? undefined : clauses.join("; ");
}
