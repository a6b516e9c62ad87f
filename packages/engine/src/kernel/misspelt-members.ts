import type { z } from "zod";
import { nearestName } from "./nearest-name.ts";

/** Maximum number of unknown members that are checked: a payload with more has other problems than typos. */
const MAX_CHECKED = 50;

/**
 * Returns one clause for each member of `value` that is unknown to `schema` and close to a known name; undefined if
 * there is none.
 */
export function misspeltMembers(schema: z.ZodType, value: unknown): string | undefined {
  const shape = (schema as { readonly shape?: object }).shape;
  if (shape === undefined || typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const clauses: string[] = [];
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(shape, name) && !name.startsWith("_"));
  for (const name of unknown.slice(0, MAX_CHECKED)) {
    const meant = nearestName(name, Object.keys(shape));
    if (meant !== undefined) clauses.push(`unknown member \`${name}\`; did you mean ${meant}?`);
  }
  return clauses.length === 0 ? undefined : clauses.join("; ");
}
