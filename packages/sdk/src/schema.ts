import { CallError } from "@svc/protocol";
import * as core from "zod/v4/core";

/** A schema of zod 4 (classic or mini). */
export type ZodSchema = core.$ZodType;

/** A JSON Schema document. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly _zod?: never;
}

/** Schema of a payload: a zod schema, which the SDK also enforces, or a JSON Schema, which is only shown. */
export type Format = ZodSchema | JsonSchema | boolean;

export type InputOf<Schema extends ZodSchema> = core.input<Schema>;
export type OutputOf<Schema extends ZodSchema> = core.output<Schema>;

export function isZodSchema(format: unknown): format is ZodSchema {
  return typeof format === "object" && format !== null && "_zod" in format;
}

/**
 * Returns the format as JSON Schema.
 *
 * @throws TypeError that names `what`, if the format cannot be converted.
 */
export function toJsonSchema(format: Format | undefined, what: string): unknown {
  if (format === undefined || typeof format === "boolean") return format;
  if (isZodSchema(format)) {
    try {
      return core.toJSONSchema(format, { io: "input" });
    } catch (cause) {
      throw new TypeError(`${what} cannot be written as JSON Schema: ${(cause as Error).message}`, { cause });
    }
  }
  if (typeof format !== "object" || format === null || Array.isArray(format))
    throw new TypeError(`${what} must be a zod schema or a JSON Schema object`);
  if ("~standard" in format || "_def" in format)
    throw new TypeError(
      `${what} is a schema of another library or of zod 3; give a zod 4 schema or a JSON Schema object`,
    );
  return format;
}

/** Describes a value that does not match its schema, for the error. */
export interface Mismatch {
  /** e.g. `the payload does not fit function math::add`. */
  readonly text: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Returns the schema's output for the value: defaults filled in, transforms applied. Returns a promise if the schema
 * has asynchronous checks. Throws or rejects with `invalid_input`, which names the field.
 */
export function parseBySchema(schema: ZodSchema, value: unknown, mismatch: () => Mismatch): unknown {
  try {
    const parsed = core.safeParse(schema, value);
    if (parsed.success) return parsed.data;
    throw invalidInput(mismatch(), parsed.error.issues);
  } catch (thrown) {
    if (!(thrown instanceof core.$ZodAsyncError)) throw thrown;
  }
  return core.safeParseAsync(schema, value).then((parsed) => {
    if (parsed.success) return parsed.data;
    throw invalidInput(mismatch(), parsed.error.issues);
  });
}

/** Maximum number of issues in an error. */
const MAX_ISSUES = 20;

function invalidInput({ text, details }: Mismatch, issues: readonly core.$ZodIssue[]): CallError {
  const named = issues
    .slice(0, MAX_ISSUES)
    .map((issue) => ({ path: issue.path.map(String).join("."), message: issue.message }));
  const first = named.map(({ path, message }) => (path === "" ? message : `\`${path}\`: ${message}`)).join("; ");
  return new CallError("invalid_input", `${text}: ${first}`, { details: { ...details, issues: named } });
}
