import { CallError } from "@svc/protocol";
import * as core from "zod/v4/core";

/** A schema of zod 4 (classic or mini). */
export type ZodSchema = core.$ZodType;

/** A JSON Schema document, written by hand. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly _zod?: never;
}

/** What says how a payload looks: a zod schema, which is also enforced, or a JSON Schema, which is only shown. */
export type Format = ZodSchema | JsonSchema | boolean;

export type InputOf<Schema extends ZodSchema> = core.input<Schema>;
export type OutputOf<Schema extends ZodSchema> = core.output<Schema>;

export function isZodSchema(format: unknown): format is ZodSchema {
  return typeof format === "object" && format !== null && "_zod" in format;
}

/** The format as JSON Schema. Throws TypeError, naming `what`, when there is no such thing. */
export function toJsonSchema(format: Format | undefined, what: string): unknown {
  if (format === undefined || typeof format === "boolean") return format;
  if (isZodSchema(format)) {
    try {
      return core.toJSONSchema(format, { io: "input" });
    } catch (cause) {
      throw new TypeError(`${what} cannot be written as JSON Schema: ${(cause as Error).message}`, { cause });
    }
  }
  if (typeof format !== "object" || format === null || Array.isArray(format)) throw new TypeError(`${what} must be a zod schema or a JSON Schema object`);
  if ("~standard" in format || "_def" in format)
    throw new TypeError(`${what} is a schema of another library or of zod 3; give a zod 4 schema or a JSON Schema object`);
  return format;
}

/** What does not fit what, for the error. */
export interface Misfit {
  /** e.g. `the payload does not fit function math::add`. */
  readonly text: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** The value as the schema reads it: defaults filled in, transforms done. Throws (or rejects with) `invalid_input`, naming the field. */
export function parseBySchema(schema: ZodSchema, value: unknown, misfit: () => Misfit): unknown {
  try {
    const parsed = core.safeParse(schema, value);
    if (parsed.success) return parsed.data;
    throw invalidInput(misfit(), parsed.error.issues);
  } catch (thrown) {
    if (!(thrown instanceof core.$ZodAsyncError)) throw thrown;
  }
  return core.safeParseAsync(schema, value).then((parsed) => {
    if (parsed.success) return parsed.data;
    throw invalidInput(misfit(), parsed.error.issues);
  });
}

/** So many issues travel in an error. */
const MAX_ISSUES = 20;

function invalidInput({ text, details }: Misfit, issues: readonly core.$ZodIssue[]): CallError {
  const named = issues.slice(0, MAX_ISSUES).map((issue) => ({ path: issue.path.map(String).join("."), message: issue.message }));
  const first = named.map(({ path, message }) => (path === "" ? message : `\`${path}\`: ${message}`)).join("; ");
  return new CallError("invalid_input", `${text}: ${first}`, { details: { ...details, issues: named } });
}
