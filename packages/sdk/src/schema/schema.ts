import { CallError } from "@svc-runtime/protocol";
import {
  type InputOf,
  isStandardSchema,
  type OutputOf,
  type StandardIssue,
  type StandardJsonSchemaOptions,
  type StandardResult,
  type StandardSchema,
} from "./standard-schema.ts";

/** A JSON Schema document. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly "~standard"?: never;
}

/**
 * Schema of a payload: a Standard Schema (zod, valibot, arktype), which the SDK also enforces, or a JSON Schema, which
 * is only shown.
 */
export type Format = StandardSchema | JsonSchema | boolean;

const TARGET = { target: "draft-2020-12" } as const;

/**
 * Returns the format as JSON Schema. Undefined for a schema whose library has no conversion: `withJsonSchema` adds one.
 *
 * @throws TypeError that names `what`, if the format cannot be converted.
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
 * As `toJsonSchema`, for a schema of strings that it converts, e.g. to dates: what JSON Schema cannot express is shown as
 * any value. Undefined if the library cannot do that.
 */
export function shownJsonSchema(schema: StandardSchema): unknown {
  try {
    // The option is zod's. Other libraries ignore it.
    return jsonSchemaOf(schema, { ...TARGET, libraryOptions: { unrepresentable: "any" } });
  } catch {
    return undefined;
  }
}

function jsonSchemaOf(schema: StandardSchema, options: StandardJsonSchemaOptions = TARGET): unknown {
  const { jsonSchema } = schema["~standard"];
  if (jsonSchema !== undefined) return jsonSchema.input(options);
  // Releases of zod 4 before Standard JSON Schema have the conversion as a method.
  const own = (schema as { readonly toJSONSchema?: unknown }).toJSONSchema;
  return typeof own === "function" ? (own.call(schema, { io: "input" }) as unknown) : undefined;
}

/**
 * Returns the schema with a JSON Schema for listings, OpenAPI and the console. For libraries without a conversion of
 * their own: `withJsonSchema(schema, toJsonSchema(schema))`.
 */
export function withJsonSchema<Schema extends StandardSchema>(
  schema: Schema,
  jsonSchema: Readonly<Record<string, unknown>>,
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

/** One problem of a value. */
export interface Issue {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Maximum number of issues of a value in an error, and of those in its message. */
export const MAX_ISSUES = 100;
const MAX_ISSUES_IN_MESSAGE = 20;

/** Returns the issues as one line, each with its place. */
export function issuesText(issues: readonly Issue[]): string {
  const clauses = issues
    .slice(0, MAX_ISSUES_IN_MESSAGE)
    .map(({ path, message }) => (path.length === 0 ? message : `\`${path.join(".")}\`: ${message}`));
  const more = issues.length - clauses.length;
  return clauses.concat(more === 0 ? [] : `and ${more} more`).join("; ");
}

export function issuesOf(result: { readonly issues: readonly StandardIssue[] }): readonly Issue[] {
  return result.issues.slice(0, MAX_ISSUES).map(({ path = [], message }) => ({
    path: path.map((part) => {
      const key = typeof part === "object" ? part.key : part;
      return typeof key === "number" ? key : String(key);
    }),
    message,
  }));
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
export function parseBySchema(schema: StandardSchema, value: unknown, mismatch: () => Mismatch): unknown {
  const parsed = schema["~standard"].validate(value);
  return parsed instanceof Promise
    ? parsed.then((result) => outputOf(result, mismatch))
    : outputOf(parsed, mismatch);
}

function outputOf(result: StandardResult<unknown>, mismatch: () => Mismatch): unknown {
  if (result.issues === undefined) return result.value;
  const { text, details } = mismatch();
  const issues = issuesOf(result);
  throw new CallError("invalid_input", `${text}: ${issuesText(issues)}`, {
    details: { ...details, issues: issues.map(({ path, message }) => ({ path: path.join("."), message })) },
  });
}
