import { didYouMean } from "@svc-runtime/protocol";
import type { z } from "zod";
import { jsonSchemaOf } from "./lazy-schema.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;
type Path = readonly PropertyKey[];

/**
 * Returns one clause for each problem: where it is and what was expected. `whole` names the value, e.g. `the payload`;
 * `value` is the input of `schema`.
 */
export function describeIssues(
  error: Pick<z.core.$ZodError, "issues">,
  options: { readonly whole: string; readonly schema: z.ZodType; readonly value: unknown },
): string {
  return error.issues.map((issue) => clause(issue, options)).join("; ");
}

function clause(
  issue: z.core.$ZodIssue,
  { whole, schema, value }: { readonly whole: string; readonly schema: z.ZodType; readonly value: unknown },
): string {
  const where = issue.path.length === 0 ? whole : `\`${issue.path.map(String).join(".")}\``;
  if (issue.code === "unrecognized_keys") {
    const known = membersAt(jsonSchemaOf(schema), issue.path, value);
    return `${where}: ${issue.keys.map((name) => `unknown member \`${name}\`${didYouMean(name, known)}`).join("; ")}`;
  }
  // Only zod's default messages are replaced, because a schema's own message may say more than "is missing".
  if (/^Invalid (?:input|option|discriminator)/.test(issue.message) && isMissing(value, issue.path))
    return `${where}: is missing`;
  return `${where}: ${issue.message}`;
}

/** Returns whether the parent object exists and lacks the member. */
function isMissing(value: unknown, path: Path): boolean {
  const name = path.at(-1);
  const holder = valueAt(value, path.slice(0, -1));
  return name !== undefined && typeof holder === "object" && holder !== null && !Object.hasOwn(holder, name);
}

function valueAt(value: unknown, path: Path): unknown {
  let found = value;
  for (const part of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Record<PropertyKey, unknown>)[part];
  }
  return found;
}

/**
 * Returns the members that the schema allows at a path. In a discriminated union these are only the members of the
 * alternative that the value selects.
 */
function membersAt(root: JsonSchema, path: Path, value: unknown): string[] {
  let schemas = alternatives(root);
  for (const part of path) schemas = schemas.flatMap((schema) => children(schema, part)).flatMap(alternatives);
  const found = valueAt(value, path);
  return [
    ...new Set(
      schemas.filter((schema) => isChosen(schema, found)).flatMap((schema) => Object.keys(schema.properties ?? {})),
    ),
  ];
}

function alternatives(schema: JsonSchema): JsonSchema[] {
  const inner = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [schema, ...inner.flatMap((one) => (typeof one === "object" ? alternatives(one) : []))];
}

function children(schema: JsonSchema, part: PropertyKey): JsonSchema[] {
  const found = typeof part === "number" ? schema.items : schema.properties?.[String(part)];
  return typeof found === "object" && !Array.isArray(found) ? [found as JsonSchema] : [];
}

function isChosen(schema: JsonSchema, value: unknown): boolean {
  return Object.entries(schema.properties ?? {}).every(([name, member]) => {
    if (typeof member !== "object" || member.const === undefined) return true;
    return valueAt(value, [name]) === member.const;
  });
}
